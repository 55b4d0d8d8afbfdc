/*
 * What programs do with the C library's locks, as much of it each time: how long it takes is for who started
 * it to measure. On standard output: the longest wait in microseconds, if it was asked for.
 *
 *   speed WHAT ROUNDS [waits]
 *
 * alone     one thread and 64 mutexes, which nobody else wants; a second thread sleeps, as the C library
 *           takes short cuts in programs of one
 * readers   the same with reader-writer locks, read
 * mutex     eight threads, one mutex, as much work outside as inside
 * short     the same with one addition inside and nothing outside
 * map       eight threads, a table in 16 shards, keys at random
 * rwlock    eight threads, one reader-writer lock, nine reads to a write
 * queue     four threads put in and four take out, two condition variables; waits are until it is done, for an
 *           item or a place as well
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, LOCKS = 64, SHARDS = 16, ROOM = 32 };

static const char *what;
static long rounds;
static int waits;
static uint64_t longest;
static pthread_mutex_t mutexes[LOCKS], record = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlocks[LOCKS];
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static struct {
    uint64_t value[8];
} __attribute__((aligned(64))) data[LOCKS];
static long inside;
static pthread_barrier_t start;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Between 100 and 200 ns. */
static void work(uint64_t *x) {
    uint64_t y = *x;
    for (int i = 0; i < 100; i++) y = y * 6364136223846793005u + 1442695040888963407u;
    *x = y;
}

static uint64_t before(void) {
    return waits ? now() : 0;
}

static void after(uint64_t began, uint64_t *most) {
    if (waits) {
        uint64_t took = now() - began;
        if (took > *most) *most = took;
    }
}

static void *sleeper(void *unused) {
    pause();
    return unused;
}

static void *run(void *argument) {
    long me = (long)argument;
    uint64_t random = 88172645463325252u + (uint64_t)me * 7919, most = 0, own = 0, began;
    pthread_barrier_wait(&start);
    for (long i = 0; i < rounds; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        switch (what[0]) {
        case 'm':
            if (what[1] == 'u') { /* mutex */
                began = before();
                pthread_mutex_lock(&mutexes[0]);
                after(began, &most);
                work(&data[0].value[0]);
                pthread_mutex_unlock(&mutexes[0]);
                work(&own);
            } else { /* map */
                unsigned shard = random % SHARDS;
                began = before();
                pthread_mutex_lock(&mutexes[shard]);
                after(began, &most);
                data[shard].value[random >> 61]++;
                pthread_mutex_unlock(&mutexes[shard]);
            }
            break;
        case 's':
            began = before();
            pthread_mutex_lock(&mutexes[0]);
            after(began, &most);
            data[0].value[0]++;
            pthread_mutex_unlock(&mutexes[0]);
            break;
        case 'r':
            began = before();
            if (random % 10) {
                pthread_rwlock_rdlock(&rwlocks[0]);
                after(began, &most);
                own += data[0].value[0];
            } else {
                pthread_rwlock_wrlock(&rwlocks[0]);
                after(began, &most);
                data[0].value[0]++;
            }
            pthread_rwlock_unlock(&rwlocks[0]);
            break;
        default: /* queue */
            began = before();
            pthread_mutex_lock(&mutexes[0]);
            if (me % 2) {
                while (inside == ROOM) pthread_cond_wait(&emptied, &mutexes[0]);
                inside++;
                pthread_cond_signal(&filled);
            } else {
                while (inside == 0) pthread_cond_wait(&filled, &mutexes[0]);
                inside--;
                pthread_cond_signal(&emptied);
            }
            after(began, &most);
            pthread_mutex_unlock(&mutexes[0]);
            work(&own);
        }
    }
    pthread_mutex_lock(&record);
    if (most > longest) longest = most;
    data[LOCKS - 1].value[7] += own;
    pthread_mutex_unlock(&record);
    return NULL;
}

int main(int count, char **arguments) {
    const char *known[] = {"alone", "readers", "mutex", "short", "map", "rwlock", "queue"};
    int found = 0;
    for (unsigned i = 0; count >= 3 && i < sizeof known / sizeof *known; i++)
        found |= !strcmp(arguments[1], known[i]);
    if (!found || (rounds = atol(arguments[2])) <= 0) {
        fprintf(stderr, "speed alone|readers|mutex|short|map|rwlock|queue ROUNDS [waits]\n");
        return 2;
    }
    what = arguments[1];
    waits = count > 3;
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_init(&mutexes[i], NULL);
        pthread_rwlock_init(&rwlocks[i], NULL);
    }
    pthread_t thread[THREADS];
    if (what[0] == 'a' || !strcmp(what, "readers")) {
        pthread_create(&thread[0], NULL, sleeper, NULL);
        uint64_t sum = 0;
        for (long i = 0; i < rounds; i++) {
            unsigned at = (unsigned)i % (LOCKS - 1);
            if (what[0] == 'a') {
                pthread_mutex_lock(&mutexes[at]);
                data[at].value[0]++;
                pthread_mutex_unlock(&mutexes[at]);
            } else {
                pthread_rwlock_rdlock(&rwlocks[at]);
                sum += data[at].value[0];
                pthread_rwlock_unlock(&rwlocks[at]);
            }
        }
        return sum == 1;
    }
    pthread_barrier_init(&start, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    if (waits) printf("%.0f\n", (double)longest / 1e3);
    return 0;
}
