/* Forks: handlers that lock and unlock, children that use the locks, children of contended processes. */
#include "show.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static atomic_int stop;
static long count;

static void lock_all(void)
{
    MUST(pthread_mutex_lock(&m) == 0);
    MUST(pthread_rwlock_wrlock(&l) == 0);
}

static void unlock_in_parent(void)
{
    MUST(pthread_rwlock_unlock(&l) == 0);
    MUST(pthread_mutex_unlock(&m) == 0);
}

static void unlock_in_child(void)
{
    /* A lock for writing is known by its owner's number, which is another in the child; and a
       condition variable may have waiters that do not exist there. */
    MUST(pthread_rwlock_init(&l, NULL) == 0);
    MUST(pthread_cond_init(&c, NULL) == 0);
    MUST(pthread_mutex_unlock(&m) == 0);
}

static void *contends(void *unused)
{
    while (!atomic_load(&stop)) {
        MUST(pthread_mutex_lock(&m) == 0);
        count++;
        if (count % 7 == 0) {
            struct timespec soon = in_ms(CLOCK_REALTIME, 0);
            pthread_cond_timedwait(&c, &m, &soon);
        }
        MUST(pthread_mutex_unlock(&m) == 0);
        MUST(pthread_rwlock_rdlock(&l) == 0);
        MUST(pthread_rwlock_unlock(&l) == 0);
        if (count % 5 == 0)
            MUST(pthread_cond_broadcast(&c) == 0);
    }
    return unused;
}

static void *in_child(void *unused)
{
    for (int i = 0; i < 500; i++) {
        MUST(pthread_mutex_lock(&m) == 0);
        MUST(pthread_rwlock_wrlock(&l) == 0);
        MUST(pthread_cond_signal(&c) == 0);
        MUST(pthread_rwlock_unlock(&l) == 0);
        MUST(pthread_mutex_unlock(&m) == 0);
    }
    return unused;
}

static void child(void)
{
    pthread_t threads[3];
    struct timespec soon;
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, in_child, NULL) == 0);
    for (int i = 0; i < 3; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    MUST(pthread_mutex_lock(&m) == 0);
    soon = in_ms(CLOCK_REALTIME, 1);
    MUST(pthread_cond_timedwait(&c, &m, &soon) == ETIMEDOUT);
    MUST(pthread_mutex_unlock(&m) == 0);
    _exit(0);
}

int main(void)
{
    pthread_t threads[3];
    int status;
    /* What the parent's thread holds, the child's may not release, if the kind asks for the owner. */
    SHOW(pthread_mutex_lock(&recursive));
    SHOW(pthread_mutex_lock(&m));
    pid_t pid = fork();
    if (pid == 0) {
        SHOW(pthread_mutex_trylock(&m));
        SHOW(pthread_mutex_unlock(&m));
        SHOW(pthread_mutex_trylock(&m));
        SHOW(pthread_mutex_unlock(&recursive));
        SHOW(pthread_mutex_trylock(&recursive));
        fflush(stdout);
        _exit(0);
    }
    MUST(waitpid(pid, &status, 0) == pid);
    VALUE(status);
    SHOW(pthread_mutex_unlock(&m));
    SHOW(pthread_mutex_unlock(&recursive));

    MUST(pthread_atfork(lock_all, unlock_in_parent, unlock_in_child) == 0);
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, contends, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        pid = fork();
        MUST(pid >= 0);
        if (pid == 0)
            child();
        MUST(waitpid(pid, &status, 0) == pid);
        MUST(status == 0);
    }
    atomic_store(&stop, 1);
    MUST(pthread_cond_broadcast(&c) == 0);
    for (int i = 0; i < 3; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    printf("100 children\n");
    return 0;
}
