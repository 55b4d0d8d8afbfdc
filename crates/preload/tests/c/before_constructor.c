/* A library whose constructor runs before the interposer's, and contends. */
#include "show.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t robust;
static long count;
static int turn;

static void *contends(void *argument)
{
    for (int i = 0; i < 3000; i++) {
        MUST(pthread_mutex_lock(&m) == 0);
        while (turn % 2 != (argument != NULL))
            MUST(pthread_cond_wait(&c, &m) == 0);
        turn++;
        count++;
        MUST(pthread_cond_broadcast(&c) == 0);
        MUST(pthread_mutex_unlock(&m) == 0);
        MUST(pthread_mutex_lock(&robust) == 0);
        MUST(pthread_mutex_unlock(&robust) == 0);
    }
    return NULL;
}

__attribute__((constructor)) static void first(void)
{
    pthread_mutexattr_t attr;
    pthread_t threads[2];
    MUST(pthread_mutexattr_init(&attr) == 0);
    MUST(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
    MUST(pthread_mutex_init(&robust, &attr) == 0);
    MUST(pthread_create(&threads[0], NULL, contends, NULL) == 0);
    MUST(pthread_create(&threads[1], NULL, contends, &m) == 0);
    MUST(pthread_join(threads[0], NULL) == 0);
    MUST(pthread_join(threads[1], NULL) == 0);
    printf("before: %ld\n", count);
    fflush(stdout);
}
