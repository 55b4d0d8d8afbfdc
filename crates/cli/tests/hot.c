#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Three locks of known holds: each thread takes them so often (100 times, or as told),
 * and holds them so long. The first hold of the hottest begins before the others come, and lasts until they wait. */
static pthread_mutex_t hottest = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t warm = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t *cool;
static pthread_barrier_t begun;
static int first = 1;

static void hold(long ns) { struct timespec t = {0, ns}; clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0); }
__attribute__((noinline)) static void short_hold(void) { pthread_mutex_lock(&hottest); pthread_mutex_unlock(&hottest); }
__attribute__((noinline)) static void long_hold(void) { pthread_mutex_lock(&hottest); if (first) { first = 0; pthread_barrier_wait(&begun); hold(20000000); } hold(2000000); pthread_mutex_unlock(&hottest); }
__attribute__((noinline)) static void write_warm(void) { pthread_rwlock_wrlock(&warm); hold(700000); pthread_rwlock_unlock(&warm); }
__attribute__((noinline)) static void read_warm(void) { pthread_rwlock_rdlock(&warm); pthread_rwlock_unlock(&warm); }
__attribute__((noinline)) static void use_cool(void) { pthread_mutex_lock(cool); hold(200000); pthread_mutex_unlock(cool); }
__attribute__((noinline)) static void make_cool(void) { cool = malloc(sizeof *cool); pthread_mutex_init(cool, 0); }

static int rounds = 100;

static void *f(void *p)
{
    long me = (long)p;
    if (me) pthread_barrier_wait(&begun);
    for (int i = 0; i < rounds; i++) {
        if (me == 0) long_hold(); else short_hold();
        if (me == 1) write_warm(); else read_warm();
        use_cool();
    }
    return 0;
}
int main(int argc, char **argv) {
    if (argc > 1) rounds = atoi(argv[1]);
    pthread_t t[4];
    make_cool();
    pthread_barrier_init(&begun, 0, 4);
    for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, f, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    puts("done");
}
