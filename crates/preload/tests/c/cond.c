/* Condition variables: results, clocks, who is woken, kinds of mutex. */
#include "show.h"

struct meeting {
    pthread_cond_t *cond;
    pthread_mutex_t *mutex;
    int round, waiting, woken;
};

static void *waits(void *m)
{
    struct meeting *meeting = m;
    MUST(pthread_mutex_lock(meeting->mutex) == 0);
    int round = meeting->round;
    meeting->waiting++;
    while (meeting->round == round)
        MUST(pthread_cond_wait(meeting->cond, meeting->mutex) == 0);
    meeting->woken++;
    MUST(pthread_mutex_unlock(meeting->mutex) == 0);
    return NULL;
}

static void *takes_one(void *m)
{
    struct meeting *meeting = m;
    MUST(pthread_mutex_lock(meeting->mutex) == 0);
    meeting->waiting++;
    while (meeting->round == 0)
        MUST(pthread_cond_wait(meeting->cond, meeting->mutex) == 0);
    meeting->round--;
    meeting->woken++;
    MUST(pthread_mutex_unlock(meeting->mutex) == 0);
    return NULL;
}

static void gather(struct meeting *m, pthread_t *threads, int n, void *(*body)(void *))
{
    for (int i = 0; i < n; i++)
        MUST(pthread_create(&threads[i], NULL, body, m) == 0);
    for (int all = 0; !all;) {
        MUST(pthread_mutex_lock(m->mutex) == 0);
        all = m->waiting == n;
        MUST(pthread_mutex_unlock(m->mutex) == 0);
        sched_yield();
    }
}

static void broadcast(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    enum { N = 12 };
    pthread_t threads[N];
    struct meeting m = {cond, mutex, 0, 0, 0};
    gather(&m, threads, N, waits);
    MUST(pthread_mutex_lock(mutex) == 0);
    m.round = 1;
    SHOW(pthread_cond_broadcast(cond));
    MUST(pthread_mutex_unlock(mutex) == 0);
    for (int i = 0; i < N; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    VALUE(m.woken);
}

static void signals(pthread_cond_t *cond, pthread_mutex_t *mutex, int locked)
{
    enum { N = 6 };
    pthread_t threads[N];
    struct meeting m = {cond, mutex, 0, 0, 0};
    gather(&m, threads, N, takes_one);
    for (int i = 0; i < N; i++) {
        MUST(pthread_mutex_lock(mutex) == 0);
        m.round++;
        if (locked)
            SHOW(pthread_cond_signal(cond));
        MUST(pthread_mutex_unlock(mutex) == 0);
        if (!locked)
            SHOW(pthread_cond_signal(cond));
        /* One wait is ended by each signal, so the next finds the count 0 again. */
        for (int taken = 0; !taken;) {
            MUST(pthread_mutex_lock(mutex) == 0);
            taken = m.woken == i + 1;
            MUST(pthread_mutex_unlock(mutex) == 0);
            sched_yield();
        }
    }
    for (int i = 0; i < N; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    VALUE(m.woken);
}

static int try(void *m) { return pthread_mutex_trylock(m); }
static int pair(void *m)
{
    int result = pthread_mutex_lock(m);
    return result ? result : pthread_mutex_unlock(m);
}

static void times(pthread_cond_t *c, pthread_mutex_t *m, clockid_t own)
{
    static const struct timespec bad[] = {
        {0, 0}, {0, -1}, {0, 1000000000}, {-1, 0}, {-1, 5}, {-1, 1000000000}};
    static const clockid_t clocks[] = {
        CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_BOOTTIME, -1, 999};
    struct timespec t;
    SHOW(pthread_mutex_lock(m));
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        VALUE(i);
        SHOW(pthread_cond_timedwait(c, m, &bad[i]));
        for (unsigned k = 0; k < sizeof clocks / sizeof *clocks; k++)
            SHOW(pthread_cond_clockwait(c, m, clocks[k], &bad[i]));
    }
    struct timespec from = in_ms(CLOCK_MONOTONIC, 0);
    t = in_ms(own, 30);
    SHOW(pthread_cond_timedwait(c, m, &t));
    t = in_ms(CLOCK_MONOTONIC, 30);
    SHOW(pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &t));
    t = in_ms(CLOCK_REALTIME, 30);
    SHOW(pthread_cond_clockwait(c, m, CLOCK_REALTIME, &t));
    struct timespec to = in_ms(CLOCK_MONOTONIC, 0);
    long ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
    VALUE(ms >= 89 && ms < 5000);
    SHOW(elsewhere(try, m));
    SHOW(pthread_mutex_unlock(m));
    SHOW(elsewhere(pair, m));
}

static void kinds(pthread_cond_t *c)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    for (int t = 0; t < 4; t++)
        for (int protocol = 0; protocol < 2; protocol++)
            for (int robust = 0; robust < 2; robust++) {
                pthread_mutexattr_t attr;
                pthread_mutex_t m;
                struct timespec soon;
                printf("== type %d, protocol %d, robust %d\n", types[t], protocol, robust);
                SHOW(pthread_mutexattr_init(&attr));
                SHOW(pthread_mutexattr_settype(&attr, types[t]));
                SHOW(pthread_mutexattr_setprotocol(&attr, protocol));
                SHOW(pthread_mutexattr_setrobust(&attr, robust));
                SHOW(pthread_mutex_init(&m, &attr));
                if (types[t] == PTHREAD_MUTEX_RECURSIVE || types[t] == PTHREAD_MUTEX_ERRORCHECK) {
                    soon = in_ms(CLOCK_REALTIME, 10);
                    SHOW(pthread_cond_timedwait(c, &m, &soon)); /* Not held. */
                }
                SHOW(pthread_mutex_lock(&m));
                soon = in_ms(CLOCK_REALTIME, 10);
                SHOW(pthread_cond_timedwait(c, &m, &soon));
                if (types[t] == PTHREAD_MUTEX_RECURSIVE) {
                    /* Held twice, it stays held. */
                    SHOW(pthread_mutex_lock(&m));
                    soon = in_ms(CLOCK_REALTIME, 10);
                    SHOW(pthread_cond_timedwait(c, &m, &soon));
                    SHOW(pthread_mutex_unlock(&m));
                }
                SHOW(pthread_mutex_unlock(&m));
                broadcast(c, &m);
                signals(c, &m, 1);
                signals(c, &m, 0);
                SHOW(pthread_mutex_destroy(&m));
            }
}

static void *dies_holding(void *m)
{
    MUST(pthread_mutex_lock(m) == 0);
    return NULL;
}

static pthread_mutex_t robust_mutex;
static pthread_cond_t robust_cond = PTHREAD_COND_INITIALIZER;
static int went_to_wait;

static void *waits_for_a_dead_holder(void *unused)
{
    MUST(pthread_mutex_lock(&robust_mutex) == 0);
    went_to_wait = 1;
    int result = pthread_cond_wait(&robust_cond, &robust_mutex);
    SHOW(result);
    SHOW(pthread_mutex_consistent(&robust_mutex));
    SHOW(pthread_mutex_unlock(&robust_mutex));
    return unused;
}

static void *signals_and_dies(void *unused)
{
    MUST(pthread_mutex_lock(&robust_mutex) == 0);
    SHOW(pthread_cond_signal(&robust_cond));
    return unused;
}

static void robust(void)
{
    pthread_mutexattr_t attr;
    pthread_t waiter, holder;
    printf("== a robust mutex whose holder dies\n");
    SHOW(pthread_mutexattr_init(&attr));
    SHOW(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
    SHOW(pthread_mutex_init(&robust_mutex, &attr));
    MUST(pthread_create(&waiter, NULL, waits_for_a_dead_holder, NULL) == 0);
    for (int seen = 0; !seen;) {
        MUST(pthread_mutex_lock(&robust_mutex) == 0);
        seen = went_to_wait;
        MUST(pthread_mutex_unlock(&robust_mutex) == 0);
        sched_yield();
    }
    MUST(pthread_create(&holder, NULL, signals_and_dies, NULL) == 0);
    MUST(pthread_join(holder, NULL) == 0);
    MUST(pthread_join(waiter, NULL) == 0);
    SHOW(pthread_mutex_trylock(&robust_mutex));
    SHOW(pthread_mutex_unlock(&robust_mutex));
    (void)dies_holding;
}

/* Shared between processes, with a mutex that is and with one that is not. */
struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int told, waiting;
};

static void across_processes(void)
{
    pthread_mutexattr_t mattr;
    pthread_condattr_t cattr;
    int pshared = -1, status;
    clockid_t clock = -1;
    struct shared *s =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(s != MAP_FAILED);
    printf("== across processes\n");
    SHOW(pthread_mutexattr_init(&mattr));
    SHOW(pthread_mutexattr_setpshared(&mattr, PTHREAD_PROCESS_SHARED));
    SHOW(pthread_mutex_init(&s->mutex, &mattr));
    SHOW(pthread_condattr_init(&cattr));
    SHOW(pthread_condattr_getpshared(&cattr, &pshared));
    VALUE(pshared);
    SHOW(pthread_condattr_getclock(&cattr, &clock));
    VALUE(clock);
    SHOW(pthread_condattr_setpshared(&cattr, PTHREAD_PROCESS_SHARED));
    SHOW(pthread_condattr_setclock(&cattr, CLOCK_MONOTONIC));
    SHOW(pthread_condattr_setclock(&cattr, CLOCK_PROCESS_CPUTIME_ID));
    SHOW(pthread_condattr_setpshared(&cattr, 9));
    SHOW(pthread_condattr_getpshared(&cattr, &pshared));
    VALUE(pshared);
    SHOW(pthread_condattr_getclock(&cattr, &clock));
    VALUE(clock);
    SHOW(pthread_cond_init(&s->cond, &cattr));
    pid_t child = fork();
    if (child == 0) {
        int result = pthread_mutex_lock(&s->mutex);
        s->waiting = 1;
        while (!s->told)
            result |= pthread_cond_wait(&s->cond, &s->mutex);
        result |= pthread_mutex_unlock(&s->mutex);
        _exit(result);
    }
    for (int waiting = 0; !waiting;) {
        MUST(pthread_mutex_lock(&s->mutex) == 0);
        waiting = s->waiting;
        MUST(pthread_mutex_unlock(&s->mutex) == 0);
        sched_yield();
    }
    MUST(pthread_mutex_lock(&s->mutex) == 0);
    s->told = 1;
    SHOW(pthread_cond_signal(&s->cond));
    MUST(pthread_mutex_unlock(&s->mutex) == 0);
    MUST(waitpid(child, &status, 0) == child);
    VALUE(status);
    printf("== a shared condition variable and a private mutex\n");
    static pthread_mutex_t private = PTHREAD_MUTEX_INITIALIZER;
    broadcast(&s->cond, &private);
    signals(&s->cond, &private, 1);
    times(&s->cond, &private, CLOCK_MONOTONIC);
    printf("== a private condition variable and a shared mutex\n");
    static pthread_cond_t plain = PTHREAD_COND_INITIALIZER;
    broadcast(&plain, &s->mutex);
    signals(&plain, &s->mutex, 1);
    times(&plain, &s->mutex, CLOCK_REALTIME);
    SHOW(pthread_cond_destroy(&s->cond));
}

int main(void)
{
    static pthread_cond_t zero;
    static pthread_cond_t fixed = PTHREAD_COND_INITIALIZER;
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t attr;
    pthread_cond_t made;

    SHOW(pthread_cond_signal(&zero));
    SHOW(pthread_cond_broadcast(&zero));
    times(&zero, &m, CLOCK_REALTIME);
    broadcast(&fixed, &m);
    signals(&fixed, &m, 1);
    signals(&fixed, &m, 0);
    SHOW(pthread_cond_destroy(&fixed));
    memset(&made, 0x5a, sizeof made);
    SHOW(pthread_cond_init(&made, NULL));
    times(&made, &m, CLOCK_REALTIME);
    SHOW(pthread_cond_destroy(&made));
    for (int clock = 0; clock < 2; clock++) {
        memset(&made, 0x5a, sizeof made);
        SHOW(pthread_condattr_init(&attr));
        SHOW(pthread_condattr_setclock(&attr, clock));
        SHOW(pthread_cond_init(&made, &attr));
        SHOW(pthread_condattr_destroy(&attr));
        times(&made, &m, clock);
        broadcast(&made, &m);
        SHOW(pthread_cond_destroy(&made));
    }
    kinds(&zero);
    robust();
    across_processes();
    return 0;
}
