/* No call changes errno, whatever it has to do. */
#include "show.h"

enum { THREADS = 4, ROUNDS = 4000, VALUE_OF_ERRNO = 4711 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t s;

static void *works(void *unused)
{
    errno = VALUE_OF_ERRNO;
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec soon = in_ms(CLOCK_MONOTONIC, 1);
        MUST(pthread_mutex_lock(&m) == 0);
        if (i % 50 == 0)
            usleep(100);
        errno = VALUE_OF_ERRNO;
        if (i % 20 == 0)
            pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &soon);
        MUST(pthread_cond_broadcast(&c) == 0);
        MUST(pthread_mutex_unlock(&m) == 0);
        MUST(errno == VALUE_OF_ERRNO);
        if (i % 5)
            MUST(pthread_rwlock_rdlock(&l) == 0);
        else
            MUST(pthread_rwlock_wrlock(&l) == 0);
        MUST(pthread_rwlock_unlock(&l) == 0);
        MUST(pthread_spin_lock(&s) == 0);
        MUST(pthread_spin_unlock(&s) == 0);
        if (pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &soon) == 0)
            pthread_mutex_unlock(&m);
        MUST(errno == VALUE_OF_ERRNO);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    MUST(pthread_spin_init(&s, 0) == 0);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, works, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    printf("errno was never changed\n");
    return 0;
}
