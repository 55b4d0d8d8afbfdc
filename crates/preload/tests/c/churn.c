/* Threads that come, wait for a lock once, and go: churn THREADS. Their slots must be used again. */
#include "show.h"

enum { AT_A_TIME = 16 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void *waits_once(void *unused)
{
    MUST(pthread_mutex_lock(&m) == 0);
    count++;
    sched_yield();
    MUST(pthread_mutex_unlock(&m) == 0);
    return unused;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 4000;
    for (long i = 0; i < threads; i += AT_A_TIME) {
        pthread_t now[AT_A_TIME];
        for (int t = 0; t < AT_A_TIME; t++)
            MUST(pthread_create(&now[t], NULL, waits_once, NULL) == 0);
        for (int t = 0; t < AT_A_TIME; t++)
            MUST(pthread_join(now[t], NULL) == 0);
    }
    VALUE(count >= threads);
    return 0;
}
