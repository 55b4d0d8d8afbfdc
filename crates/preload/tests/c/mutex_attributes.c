/* Every attribute of a mutex: readable as set, refused as the C library refuses, and honoured. */
#include "show.h"

static pthread_mutex_t *shared;

static void readable(const pthread_mutexattr_t *attr)
{
    int type = -1, pshared = -1, protocol = -1, robust = -1, ceiling = -1;
    SHOW(pthread_mutexattr_gettype(attr, &type));
    SHOW(pthread_mutexattr_getpshared(attr, &pshared));
    SHOW(pthread_mutexattr_getprotocol(attr, &protocol));
    SHOW(pthread_mutexattr_getrobust(attr, &robust));
    SHOW(pthread_mutexattr_getprioceiling(attr, &ceiling));
    printf("%d %d %d %d %d\n", type, pshared, protocol, robust, ceiling);
}

static int die_holding(void *m) { return pthread_mutex_lock(m); }
static int try(void *m) { return pthread_mutex_trylock(m); }
static int timed(void *m)
{
    struct timespec t = in_ms(CLOCK_REALTIME, 20);
    return pthread_mutex_timedlock(m, &t);
}
static int unlock(void *m) { return pthread_mutex_unlock(m); }

static void use(pthread_mutex_t *m)
{
    int ceiling = -1;
    SHOW(pthread_mutex_lock(m));
    SHOW(elsewhere(try, m));
    SHOW(elsewhere(timed, m));
    SHOW(elsewhere(unlock, m));
    SHOW(pthread_mutex_consistent(m));
    SHOW(pthread_mutex_getprioceiling(m, &ceiling));
    VALUE(ceiling);
    SHOW(pthread_mutex_setprioceiling(m, 5, &ceiling));
    SHOW(try(m));
    SHOW(unlock(m));
    SHOW(try(m));
    SHOW(unlock(m));
}

static void combine(int type, int pshared, int protocol, int robust)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t m;
    printf("== type %d shared %d protocol %d robust %d\n", type, pshared, protocol, robust);
    memset(&m, 0x5a, sizeof m);
    SHOW(pthread_mutexattr_init(&attr));
    SHOW(pthread_mutexattr_settype(&attr, type));
    SHOW(pthread_mutexattr_setpshared(&attr, pshared));
    SHOW(pthread_mutexattr_setprotocol(&attr, protocol));
    SHOW(pthread_mutexattr_setrobust(&attr, robust));
    readable(&attr);
    int made = pthread_mutex_init(&m, &attr);
    SHOW(made);
    SHOW(pthread_mutexattr_destroy(&attr));
    if (made != 0)
        return;
    if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
        use(&m);
    SHOW(pthread_mutex_destroy(&m));
}

static void robust(int pshared, int type)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t m;
    printf("== robust, shared %d, type %d\n", pshared, type);
    SHOW(pthread_mutexattr_init(&attr));
    SHOW(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
    SHOW(pthread_mutexattr_setpshared(&attr, pshared));
    SHOW(pthread_mutexattr_settype(&attr, type));
    SHOW(pthread_mutex_init(&m, &attr));
    SHOW(elsewhere(die_holding, &m));
    SHOW(try(&m));
    SHOW(pthread_mutex_consistent(&m));
    SHOW(unlock(&m));
    SHOW(elsewhere(die_holding, &m));
    SHOW(timed(&m));
    SHOW(unlock(&m));
    SHOW(pthread_mutex_lock(&m));
    SHOW(try(&m));
    SHOW(pthread_mutex_consistent(&m));
    SHOW(pthread_mutex_destroy(&m));
}

static void across_processes(int robust)
{
    pthread_mutexattr_t attr;
    int status;
    printf("== across processes, robust %d\n", robust);
    SHOW(pthread_mutexattr_init(&attr));
    SHOW(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    SHOW(pthread_mutexattr_setrobust(&attr, robust));
    SHOW(pthread_mutex_init(shared, &attr));
    SHOW(pthread_mutex_lock(shared));
    pid_t child = fork();
    if (child == 0) {
        int held = pthread_mutex_trylock(shared);
        _exit(held == EBUSY && timed(shared) == ETIMEDOUT ? 0 : 1);
    }
    MUST(waitpid(child, &status, 0) == child);
    VALUE(status);
    SHOW(unlock(shared));
    child = fork();
    if (child == 0)
        _exit(pthread_mutex_lock(shared));
    MUST(waitpid(child, &status, 0) == child);
    VALUE(status);
    SHOW(try(shared));
}

int main(void)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    pthread_mutexattr_t attr;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(shared != MAP_FAILED);
    for (int t = 0; t < 4; t++)
        for (int pshared = 0; pshared < 2; pshared++)
            for (int protocol = 0; protocol < 3; protocol++)
                for (int robust = 0; robust < 2; robust++)
                    combine(types[t], pshared, protocol, robust);
    for (int pshared = 0; pshared < 2; pshared++) {
        robust(pshared, PTHREAD_MUTEX_NORMAL);
        robust(pshared, PTHREAD_MUTEX_RECURSIVE);
        robust(pshared, PTHREAD_MUTEX_ERRORCHECK);
    }
    across_processes(PTHREAD_MUTEX_STALLED);
    across_processes(PTHREAD_MUTEX_ROBUST);
    SHOW(pthread_mutexattr_init(&attr));
    SHOW(pthread_mutexattr_setpshared(&attr, 7));
    SHOW(pthread_mutexattr_setprotocol(&attr, 7));
    SHOW(pthread_mutexattr_setrobust(&attr, 7));
    SHOW(pthread_mutexattr_setprioceiling(&attr, 1000));
    return 0;
}
