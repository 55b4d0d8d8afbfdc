/* A program of threads that work and take a lock a few times in a row, and know of no lock library but the C
   library's: turns fifo|steal. "fifo" hands the lock to whoever waits longest, asleep or not; "steal" leaves it
   to whoever comes first. As programs that fork do: work, then a few sections of a list that all share. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 32, TURNS = 60, SECTIONS = 5 };

static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn[THREADS];
static unsigned next_ticket, serving;
static volatile unsigned long counter;
static int fifo;

static void spin(int rounds) {
    for (volatile int i = 0; i < rounds; i++) {
    }
}

static void take(void) {
    pthread_mutex_lock(&inner);
    if (fifo) {
        unsigned mine = next_ticket++;
        while (mine != serving)
            pthread_cond_wait(&turn[mine % THREADS], &inner);
        pthread_mutex_unlock(&inner);
    }
}

static void give(void) {
    if (fifo) {
        pthread_mutex_lock(&inner);
        serving++;
        pthread_cond_signal(&turn[serving % THREADS]);
    }
    pthread_mutex_unlock(&inner);
}

static void *live(void *unused) {
    for (int turns = 0; turns < TURNS; turns++) {
        spin(20000);
        for (int i = 0; i < SECTIONS; i++) {
            take();
            counter = counter + 1;
            spin(500);
            give();
        }
    }
    return unused;
}

int main(int count, char **words) {
    if (count != 2 || (strcmp(words[1], "fifo") && strcmp(words[1], "steal"))) {
        fputs("turns: say fifo or steal\n", stderr);
        return 2;
    }
    fifo = !strcmp(words[1], "fifo");
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_cond_init(&turn[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, live, NULL))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return counter != (unsigned long)THREADS * TURNS * SECTIONS;
}
