/* Signal handlers that lock, while their threads lock, wait and are woken; no call ends with EINTR. */
#include "show.h"
#include <signal.h>
#include <sys/time.h>

enum { THREADS = 4, ROUNDS = 3000 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, of_handler = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static atomic_long handled;
static long count, tickets;

static void handler(int signal)
{
    (void)signal;
    /* Not one that the interrupted thread may hold. */
    if (pthread_mutex_trylock(&of_handler) == 0)
        pthread_mutex_unlock(&of_handler);
    atomic_fetch_add(&handled, 1);
}

static void *works(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        MUST(pthread_mutex_lock(&m) == 0);
        count++;
        tickets++;
        MUST(pthread_cond_signal(&c) == 0);
        MUST(pthread_mutex_unlock(&m) == 0);
        MUST(pthread_rwlock_wrlock(&l) == 0);
        count++;
        count--;
        MUST(pthread_rwlock_unlock(&l) == 0);
        MUST(pthread_rwlock_rdlock(&l) == 0);
        MUST(pthread_rwlock_unlock(&l) == 0);
        MUST(pthread_mutex_lock(&m) == 0);
        while (tickets == 0) {
            struct timespec far = in_ms(CLOCK_REALTIME, 60000);
            int result = i % 2 ? pthread_cond_wait(&c, &m) : pthread_cond_timedwait(&c, &m, &far);
            MUST(result == 0);
        }
        tickets--;
        MUST(pthread_mutex_unlock(&m) == 0);
    }
    return unused;
}

int main(void)
{
    struct sigaction action = {.sa_handler = handler};
    struct itimerval every = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    pthread_t threads[THREADS];
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    MUST(setitimer(ITIMER_REAL, &every, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, works, NULL) == 0);
    for (int i = 0; i < 2000; i++) {
        pthread_kill(threads[i % THREADS], SIGUSR1);
        sched_yield();
    }
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
    VALUE(count == THREADS * ROUNDS);
    VALUE(tickets);
    VALUE(atomic_load(&handled) > 0);
    return 0;
}
