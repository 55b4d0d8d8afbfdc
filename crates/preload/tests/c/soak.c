/* Pairs of lock and unlock, all kinds mixed, under forks, short-lived threads, cancellation and signals:
   soak PAIRS. Nothing may be lost: each lock counts its sections in a plain variable. */
#include "show.h"
#include <signal.h>
#include <sys/time.h>

enum { WORKERS = 6, LOCKS = 32, CHURN = 8 };
enum kind { NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, ROBUST, INHERIT, RWLOCK, WRITERS, SPIN, KINDS };

struct lock {
    enum kind kind;
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    long sections; /* Under the lock. */
};

static struct lock locks[LOCKS];
static atomic_long counted[LOCKS];
static atomic_long pairs, handled;
static long wanted;
static atomic_int done;

/* Waiters that come and go, some of them cancelled. */
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static long tickets, taken;

static void make(struct lock *lock, enum kind kind)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    pthread_mutexattr_t mutex;
    pthread_rwlockattr_t rwlock;
    lock->kind = kind;
    MUST(pthread_mutexattr_init(&mutex) == 0 && pthread_rwlockattr_init(&rwlock) == 0);
    if (kind <= ADAPTIVE)
        MUST(pthread_mutexattr_settype(&mutex, types[kind]) == 0);
    if (kind == ROBUST)
        MUST(pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST) == 0);
    if (kind == INHERIT)
        MUST(pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_INHERIT) == 0);
    if (kind == WRITERS)
        MUST(pthread_rwlockattr_setkind_np(&rwlock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
    MUST(pthread_mutex_init(&lock->mutex, &mutex) == 0);
    MUST(pthread_rwlock_init(&lock->rwlock, &rwlock) == 0);
    MUST(pthread_spin_init(&lock->spin, 0) == 0);
}

static uint32_t dice(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void one(struct lock *lock, uint32_t *state)
{
    uint32_t how = dice(state);
    struct timespec soon;
    int reads = 0, depth = 1;
    switch (lock->kind) {
    case RWLOCK:
    case WRITERS:
        reads = how % 4 != 0;
        if (how % 16 == 1) {
            soon = in_ms(CLOCK_REALTIME, 1);
            while ((reads ? pthread_rwlock_timedrdlock : pthread_rwlock_timedwrlock)(&lock->rwlock, &soon))
                soon = in_ms(CLOCK_REALTIME, 1);
        } else if (how % 16 == 2) {
            while ((reads ? pthread_rwlock_tryrdlock : pthread_rwlock_trywrlock)(&lock->rwlock))
                sched_yield();
        } else {
            MUST((reads ? pthread_rwlock_rdlock : pthread_rwlock_wrlock)(&lock->rwlock) == 0);
        }
        break;
    case SPIN:
        MUST(pthread_spin_lock(&lock->spin) == 0);
        break;
    default:
        if (how % 16 == 1) {
            soon = in_ms(CLOCK_MONOTONIC, 1);
            while (pthread_mutex_clocklock(&lock->mutex, CLOCK_MONOTONIC, &soon))
                soon = in_ms(CLOCK_MONOTONIC, 1);
        } else if (how % 16 == 2) {
            while (pthread_mutex_trylock(&lock->mutex))
                sched_yield();
        } else {
            MUST(pthread_mutex_lock(&lock->mutex) == 0);
        }
        for (; lock->kind == RECURSIVE && depth < (int)(how >> 8) % 3; depth++)
            MUST(pthread_mutex_lock(&lock->mutex) == 0);
        if (lock->kind == ERRORCHECK && how % 8 == 3)
            MUST(pthread_mutex_lock(&lock->mutex) == EDEADLK);
    }
    if (!reads) {
        lock->sections++;
        atomic_fetch_add_explicit(&counted[lock - locks], 1, memory_order_relaxed);
    }
    if (how % 4096 == 4)
        sched_yield();
    switch (lock->kind) {
    case RWLOCK:
    case WRITERS:
        MUST(pthread_rwlock_unlock(&lock->rwlock) == 0);
        break;
    case SPIN:
        MUST(pthread_spin_unlock(&lock->spin) == 0);
        break;
    default:
        while (depth--)
            MUST(pthread_mutex_unlock(&lock->mutex) == 0);
    }
}

static void *works(void *seed)
{
    uint32_t state = (uint32_t)(uintptr_t)seed | 1;
    while (!atomic_load(&done)) {
        /* Mostly a few hot ones. */
        for (int i = 0; i < 500; i++)
            one(&locks[dice(&state) % (dice(&state) % 4 ? KINDS : LOCKS)], &state);
        if (atomic_fetch_add(&pairs, 500) + 500 >= wanted)
            atomic_store(&done, 1);
        MUST(pthread_mutex_lock(&m) == 0);
        tickets++;
        MUST(pthread_cond_signal(&c) == 0);
        MUST(pthread_mutex_unlock(&m) == 0);
    }
    return NULL;
}

static void unlocks(void *mutex) { MUST(pthread_mutex_unlock(mutex) == 0); }

static void *takes(void *seed)
{
    uint32_t state = (uint32_t)(uintptr_t)seed | 1;
    for (int i = 0; i < 5; i++)
        one(&locks[dice(&state) % LOCKS], &state);
    MUST(pthread_mutex_lock(&m) == 0);
    pthread_cleanup_push(unlocks, &m);
    while (tickets == 0) {
        struct timespec soon = in_ms(CLOCK_REALTIME, 20);
        if (pthread_cond_timedwait(&c, &m, &soon) == ETIMEDOUT && atomic_load(&done))
            break;
    }
    if (tickets > 0) {
        tickets--;
        taken++;
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void *churns(void *seed)
{
    uint32_t state = (uint32_t)(uintptr_t)seed | 1;
    while (!atomic_load(&done)) {
        pthread_t threads[CHURN];
        int n = 0;
        for (int i = 0; i < CHURN; i++)
            n += pthread_create(&threads[n], NULL, takes, (void *)(uintptr_t)dice(&state)) == 0;
        for (int i = 0; i < n; i++)
            if (dice(&state) % 3 == 0)
                MUST(pthread_cancel(threads[i]) == 0);
        for (int i = 0; i < n; i++)
            MUST(pthread_join(threads[i], NULL) == 0);
    }
    return NULL;
}

static void handler(int signal)
{
    (void)signal;
    atomic_fetch_add(&handled, 1);
}

static void in_child(void)
{
    /* Only its own locks: those of threads that are no more stay held. */
    pthread_t threads[2];
    struct lock *lock = &locks[0];
    atomic_store(&done, 0);
    for (int i = 0; i < LOCKS; i++)
        make(&locks[i], i % KINDS);
    MUST(pthread_mutex_init(&m, NULL) == 0 && pthread_cond_init(&c, NULL) == 0);
    lock->sections = 0;
    atomic_store(&counted[0], 0);
    atomic_store(&pairs, wanted - 2000);
    for (long i = 0; i < 2; i++)
        MUST(pthread_create(&threads[i], NULL, works, (void *)(i + 77)) == 0);
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    _exit(lock->sections == atomic_load(&counted[0]) ? 0 : 1);
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS], churn;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    int status, children = 0;
    wanted = argc > 1 ? atol(argv[1]) : 200000;
    for (int i = 0; i < LOCKS; i++)
        make(&locks[i], i % KINDS);
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    MUST(setitimer(ITIMER_REAL, &every, NULL) == 0);
    for (long i = 0; i < WORKERS; i++)
        MUST(pthread_create(&threads[i], NULL, works, (void *)(i * 2654435761 + 12345)) == 0);
    MUST(pthread_create(&churn, NULL, churns, (void *)4711) == 0);
    while (!atomic_load(&done)) {
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0)
            in_child();
        MUST(waitpid(child, &status, 0) == child);
        MUST(status == 0);
        children++;
        usleep(20000);
    }
    for (int i = 0; i < WORKERS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    MUST(pthread_mutex_lock(&m) == 0);
    MUST(pthread_cond_broadcast(&c) == 0);
    MUST(pthread_mutex_unlock(&m) == 0);
    MUST(pthread_join(churn, NULL) == 0);
    MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
    for (int i = 0; i < LOCKS; i++)
        MUST(locks[i].sections == atomic_load(&counted[i]));
    MUST(atomic_load(&pairs) >= wanted && children > 0 && atomic_load(&handled) > 0);
    fprintf(stderr, "%ld pairs, %ld tickets taken, %d children, %ld signals\n", atomic_load(&pairs),
            taken, children, atomic_load(&handled));
    printf("nothing lost\n");
    return 0;
}
