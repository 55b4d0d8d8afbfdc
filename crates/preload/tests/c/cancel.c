/* Condition waits are cancellation points: the mutex is held again when the clean-up handlers run,
   and a cancelled waiter takes no signal away. Lock calls are none. */
#include "show.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static atomic_int tid;
static int waiting, cleaned, told;

static int try(void *mutex) { return pthread_mutex_trylock(mutex); }

static void clean_up(void *mutex)
{
    cleaned++;
    SHOW(elsewhere(try, mutex));
    SHOW(pthread_mutex_unlock(mutex));
}

struct how {
    pthread_mutex_t *mutex;
    int timed, disabled;
};

static void *waits(void *h)
{
    struct how *how = h;
    struct timespec far = in_ms(CLOCK_REALTIME, 3600 * 1000);
    MUST(pthread_mutex_lock(how->mutex) == 0);
    if (how->disabled)
        MUST(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL) == 0);
    pthread_cleanup_push(clean_up, how->mutex);
    waiting++;
    atomic_store(&tid, gettid());
    while (!told) {
        int result = how->timed == 0   ? pthread_cond_wait(&c, how->mutex)
                     : how->timed == 1 ? pthread_cond_timedwait(&c, how->mutex, &far)
                                       : pthread_cond_clockwait(&c, how->mutex, CLOCK_REALTIME, &far);
        MUST(result == 0);
    }
    pthread_cleanup_pop(1);
    return "returned";
}

static void one(pthread_mutex_t *mutex, int timed)
{
    struct how how = {mutex, timed, 0};
    pthread_t thread;
    void *result;
    printf("== %s, timed %d\n", mutex == &m ? "normal" : "errorcheck", timed);
    atomic_store(&tid, 0);
    MUST(pthread_create(&thread, NULL, waits, &how) == 0);
    until_blocked(&tid);
    /* Printed later: the thread prints as soon as it is cancelled. */
    int cancelled = pthread_cancel(thread);
    MUST(pthread_join(thread, &result) == 0);
    SHOW(cancelled);
    VALUE(result == PTHREAD_CANCELED);
    VALUE(cleaned);
    SHOW(pthread_mutex_trylock(mutex));
    SHOW(pthread_mutex_unlock(mutex));
}

/* Cancelled before it waits: it does not wait. */
static void *waits_late(void *unused)
{
    struct how how = {&m, 0, 0};
    while (!atomic_load(&tid))
        sched_yield();
    waits(&how);
    return unused;
}

static void early(void)
{
    pthread_t thread;
    void *result;
    printf("== cancelled before\n");
    atomic_store(&tid, 0);
    MUST(pthread_create(&thread, NULL, waits_late, NULL) == 0);
    SHOW(pthread_cancel(thread));
    atomic_store(&tid, 1);
    MUST(pthread_join(thread, &result) == 0);
    VALUE(result == PTHREAD_CANCELED);
    SHOW(pthread_mutex_trylock(&m));
    SHOW(pthread_mutex_unlock(&m));
}

static void disabled(void)
{
    struct how how = {&m, 0, 1};
    pthread_t thread;
    void *result;
    printf("== not while it is disabled\n");
    atomic_store(&tid, 0);
    MUST(pthread_create(&thread, NULL, waits, &how) == 0);
    until_blocked(&tid);
    SHOW(pthread_cancel(thread));
    until_blocked(&tid);
    MUST(pthread_mutex_lock(&m) == 0);
    told = 1;
    SHOW(pthread_cond_signal(&c));
    MUST(pthread_mutex_unlock(&m) == 0);
    MUST(pthread_join(thread, &result) == 0);
    printf("%s\n", result == PTHREAD_CANCELED ? "cancelled" : (char *)result);
    told = 0;
}

/* Two wait. One is cancelled while the other is signalled: whichever the signal reaches, the other
   one is left over in no case. */
static void unlocks(void *mutex) { MUST(pthread_mutex_unlock(mutex) == 0); }

static void *takes(void *unused)
{
    MUST(pthread_mutex_lock(&m) == 0);
    pthread_cleanup_push(unlocks, &m);
    waiting++;
    while (told == 0)
        MUST(pthread_cond_wait(&c, &m) == 0);
    told--;
    pthread_cleanup_pop(1);
    return unused;
}

static void no_signal_lost(void)
{
    printf("== no signal is lost to a cancelled waiter\n");
    for (int i = 0; i < 300; i++) {
        pthread_t a, b;
        void *of_a, *of_b;
        waiting = told = 0;
        MUST(pthread_create(&a, NULL, takes, NULL) == 0);
        MUST(pthread_create(&b, NULL, takes, NULL) == 0);
        for (int all = 0; !all;) {
            MUST(pthread_mutex_lock(&m) == 0);
            all = waiting == 2;
            MUST(pthread_mutex_unlock(&m) == 0);
            sched_yield();
        }
        if (i % 2) {
            MUST(pthread_cancel(a) == 0);
            MUST(pthread_mutex_lock(&m) == 0);
            told = 1;
            MUST(pthread_cond_signal(&c) == 0);
            MUST(pthread_mutex_unlock(&m) == 0);
        } else {
            MUST(pthread_mutex_lock(&m) == 0);
            told = 1;
            MUST(pthread_cond_signal(&c) == 0);
            MUST(pthread_cancel(a) == 0);
            MUST(pthread_mutex_unlock(&m) == 0);
        }
        MUST(pthread_join(a, &of_a) == 0);
        if (of_a != PTHREAD_CANCELED) {
            /* It took the signal, so b waits still. */
            MUST(pthread_mutex_lock(&m) == 0);
            told = 1;
            MUST(pthread_cond_signal(&c) == 0);
            MUST(pthread_mutex_unlock(&m) == 0);
        }
        MUST(pthread_join(b, &of_b) == 0);
        MUST(of_b == NULL && told == 0);
    }
}

/* Waiting for a lock is no cancellation point, whether it is cancelled before or meanwhile. */
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int go;

static void *locks(void *rwlock)
{
    while (!atomic_load(&go))
        sched_yield();
    atomic_store(&tid, gettid());
    MUST((rwlock ? pthread_rwlock_rdlock(&l) : pthread_mutex_lock(&m)) == 0);
    cleaned = -1;
    MUST((rwlock ? pthread_rwlock_unlock(&l) : pthread_mutex_unlock(&m)) == 0);
    pthread_testcancel();
    return rwlock;
}

static void locking_goes_on(int before, void *rwlock)
{
    pthread_t thread;
    void *result;
    printf("== a lock call goes on, cancelled before: %d, rwlock: %d\n", before, rwlock != NULL);
    atomic_store(&tid, 0);
    atomic_store(&go, !before);
    cleaned = 0;
    MUST((rwlock ? pthread_rwlock_wrlock(&l) : pthread_mutex_lock(&m)) == 0);
    MUST(pthread_create(&thread, NULL, locks, rwlock) == 0);
    if (before) {
        SHOW(pthread_cancel(thread));
        atomic_store(&go, 1);
    }
    until_blocked(&tid);
    if (!before)
        SHOW(pthread_cancel(thread));
    MUST((rwlock ? pthread_rwlock_unlock(&l) : pthread_mutex_unlock(&m)) == 0);
    MUST(pthread_join(thread, &result) == 0);
    VALUE(result == PTHREAD_CANCELED);
    VALUE(cleaned);
}

int main(void)
{
    /* First of all: what is looked up at the first contended wait must not be a cancellation point either. */
    locking_goes_on(1, NULL);
    locking_goes_on(0, NULL);
    locking_goes_on(1, &l);
    locking_goes_on(0, &l);
    cleaned = 0;
    for (int timed = 0; timed < 3; timed++) {
        one(&m, timed);
        one(&checking, timed);
    }
    early();
    disabled();
    no_signal_lost();
    return 0;
}
