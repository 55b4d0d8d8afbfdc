/* Every function of lockwright.h: what it returns, in every state. */
#define _GNU_SOURCE
#include <errno.h>
#include <lockwright.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition) \
    ((condition) ? (void)0 : (printf("%d: not so: %s\n", __LINE__, #condition), exit(1)))

struct call {
    int (*f)(void *);
    void *argument;
    int result;
};

static void *body(void *c)
{
    struct call *call = c;
    call->result = call->f(call->argument);
    return NULL;
}

static int elsewhere(int (*f)(void *), void *argument)
{
    struct call call = {f, argument, -1};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, &call) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return call.result;
}

static struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static int try(void *m) { return lw_mutex_trylock(m); }
static int unlock(void *m) { return lw_mutex_unlock(m); }
static int timed(void *m)
{
    struct timespec at = in_ms(CLOCK_REALTIME, 5);
    return lw_mutex_clocklock(m, CLOCK_REALTIME, &at);
}

static void mutexes(void)
{
    struct timespec bad = {0, -1}, past = {0, 0};
    lw_mutex_t m;
    CHECK(lw_mutex_init(&m, 3, 0) == EINVAL && lw_mutex_init(&m, 0, 4) == EINVAL);
    for (unsigned policy = LW_POLICY_DEFAULT; policy <= LW_POLICY_FAIR; policy++)
        for (unsigned kind = LW_MUTEX_NORMAL; kind <= LW_MUTEX_ERRORCHECK; kind++) {
            memset(&m, 0x5a, sizeof m);
            CHECK(lw_mutex_init(&m, kind, policy) == 0);
            CHECK(!lw_mutex_is_locked(&m));
            CHECK(lw_mutex_lock(&m) == 0);
            CHECK(lw_mutex_is_locked(&m));
            CHECK(lw_mutex_destroy(&m) == EBUSY);
            CHECK(elsewhere(try, &m) == EBUSY);
            CHECK(elsewhere(timed, &m) == ETIMEDOUT);
            CHECK(lw_mutex_trylock(&m) == (kind == LW_MUTEX_RECURSIVE ? 0 : EBUSY));
            if (kind == LW_MUTEX_ERRORCHECK)
                CHECK(lw_mutex_lock(&m) == EDEADLK && timed(&m) == EDEADLK);
            if (kind == LW_MUTEX_RECURSIVE)
                CHECK(lw_mutex_lock(&m) == 0 && lw_mutex_unlock(&m) == 0 && lw_mutex_unlock(&m) == 0);
            if (kind != LW_MUTEX_NORMAL)
                CHECK(elsewhere(unlock, &m) == EPERM);
            CHECK(lw_mutex_is_locked(&m));
            CHECK((policy % 2 ? lw_mutex_unlock : lw_mutex_unlock_fair)(&m) == 0);
            if (kind != LW_MUTEX_NORMAL)
                CHECK(lw_mutex_unlock(&m) == EPERM);
            CHECK(lw_mutex_clocklock(&m, CLOCK_MONOTONIC, &past) == 0);
            CHECK(lw_mutex_unlock(&m) == 0);
            CHECK(lw_mutex_clocklock(&m, CLOCK_MONOTONIC, &bad) == EINVAL);
            CHECK(lw_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &past) == EINVAL);
            CHECK(lw_mutex_destroy(&m) == 0);
        }
}

static int tryrd(void *l)
{
    int result = lw_rwlock_tryrdlock(l);
    return result ? result : lw_rwlock_rdunlock(l);
}
static int trywr(void *l) { return lw_rwlock_trywrlock(l); }
static int tryup(void *l) { return lw_rwlock_tryuplock(l); }
static int timedrd(void *l)
{
    struct timespec at = in_ms(CLOCK_MONOTONIC, 5);
    return lw_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &at);
}
static int timedwr(void *l)
{
    struct timespec at = in_ms(CLOCK_MONOTONIC, 5);
    return lw_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &at);
}

static void rwlocks(void)
{
    struct timespec bad = {0, 1000000000};
    lw_rwlock_t l;
    CHECK(lw_rwlock_init(&l, LW_POLICY_FAIR) == EINVAL);
    for (unsigned policy = LW_POLICY_DEFAULT; policy <= LW_POLICY_KERNEL; policy += LW_POLICY_KERNEL) {
        memset(&l, 0x5a, sizeof l);
        CHECK(lw_rwlock_init(&l, policy) == 0);
        CHECK(lw_rwlock_rdunlock(&l) == EPERM && lw_rwlock_wrunlock(&l) == EPERM);
        CHECK(lw_rwlock_rdlock(&l) == 0);
        CHECK(lw_rwlock_rdlock_recursive(&l) == 0);
        CHECK(lw_rwlock_destroy(&l) == EBUSY);
        CHECK(elsewhere(tryrd, &l) == 0 && elsewhere(trywr, &l) == EBUSY);
        CHECK(elsewhere(timedwr, &l) == ETIMEDOUT);
        CHECK(lw_rwlock_downgrade(&l) == EPERM);
        CHECK(lw_rwlock_rdunlock(&l) == 0 && lw_rwlock_rdunlock(&l) == 0);
        CHECK(lw_rwlock_wrlock(&l) == 0);
        CHECK(lw_rwlock_wrlock(&l) == EDEADLK && lw_rwlock_rdlock(&l) == EDEADLK);
        CHECK(lw_rwlock_uplock(&l) == EDEADLK && timedwr(&l) == EDEADLK);
        CHECK(lw_rwlock_rdunlock(&l) == EPERM);
        CHECK(elsewhere(tryrd, &l) == EBUSY && elsewhere(timedrd, &l) == ETIMEDOUT);
        CHECK(lw_rwlock_downgrade(&l) == 0);
        CHECK(elsewhere(tryrd, &l) == 0 && elsewhere(trywr, &l) == EBUSY);
        CHECK(lw_rwlock_rdunlock(&l) == 0);
        CHECK(lw_rwlock_uplock(&l) == 0);
        CHECK(elsewhere(tryrd, &l) == 0 && elsewhere(tryup, &l) == EBUSY);
        CHECK(lw_rwlock_rdlock(&l) == 0);
        CHECK(lw_rwlock_tryupgrade(&l) == EBUSY);
        CHECK(lw_rwlock_rdunlock(&l) == 0);
        CHECK(lw_rwlock_tryupgrade(&l) == 0);
        CHECK(elsewhere(tryrd, &l) == EBUSY);
        CHECK(lw_rwlock_wrunlock(&l) == 0);
        CHECK(lw_rwlock_tryuplock(&l) == 0 && lw_rwlock_upunlock(&l) == 0);
        CHECK(lw_rwlock_uplock(&l) == 0 && lw_rwlock_upgrade(&l) == 0 && lw_rwlock_wrunlock(&l) == 0);
        CHECK(lw_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &bad) == EINVAL);
        CHECK(lw_rwlock_clockwrlock(&l, 999, &bad) == EINVAL);
        CHECK(lw_rwlock_trywrlock(&l) == 0 && lw_rwlock_wrunlock(&l) == 0);
        CHECK(lw_rwlock_destroy(&l) == 0);
    }
}

struct wait {
    lw_mutex_t *mutex;
    lw_cond_t *cond;
    int told, ready;
};

static int waits(void *w)
{
    struct wait *wait = w;
    CHECK(lw_mutex_lock(wait->mutex) == 0);
    wait->ready++;
    while (!wait->told)
        CHECK(lw_cond_wait(wait->cond, wait->mutex) == 0);
    return lw_mutex_unlock(wait->mutex);
}

static void *waits_body(void *w)
{
    CHECK(waits(w) == 0);
    return NULL;
}

static void conds(void)
{
    struct timespec bad = {0, -1}, at;
    lw_mutex_t m = LW_MUTEX_INIT_WITH(LW_MUTEX_RECURSIVE, LW_POLICY_DEFAULT);
    lw_cond_t c = LW_COND_INIT, monotonic = LW_COND_INIT_WITH(CLOCK_MONOTONIC);
    CHECK(lw_cond_init(&c, CLOCK_PROCESS_CPUTIME_ID) == EINVAL);
    CHECK(lw_cond_signal(&c) == 0 && lw_cond_broadcast(&c) == 0);
    CHECK(lw_cond_wait(&c, &m) == EPERM);
    CHECK(lw_mutex_lock(&m) == 0);
    CHECK(lw_mutex_lock(&m) == 0);
    CHECK(lw_cond_wait(&c, &m) == EINVAL);
    CHECK(lw_mutex_unlock(&m) == 0);
    at = in_ms(CLOCK_REALTIME, 5);
    CHECK(lw_cond_timedwait(&c, &m, &at) == ETIMEDOUT);
    at = in_ms(CLOCK_MONOTONIC, 5);
    CHECK(lw_cond_timedwait(&monotonic, &m, &at) == ETIMEDOUT);
    CHECK(lw_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &at) == ETIMEDOUT);
    CHECK(lw_cond_timedwait(&c, &m, &bad) == EINVAL);
    CHECK(lw_cond_clockwait(&c, &m, 999, &at) == EINVAL);
    CHECK(elsewhere(try, &m) == EBUSY);
    CHECK(lw_mutex_unlock(&m) == 0);
    struct wait wait = {&m, &c, 0, 0};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, waits_body, &wait) == 0);
    for (int all = 0; !all;) {
        CHECK(lw_mutex_lock(&m) == 0);
        all = wait.ready == 4;
        CHECK(lw_mutex_unlock(&m) == 0);
    }
    CHECK(lw_mutex_lock(&m) == 0);
    wait.told = 1;
    CHECK(lw_cond_broadcast(&c) == 0);
    CHECK(lw_mutex_unlock(&m) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(lw_cond_destroy(&c) == 0);
}

static void events(void)
{
    uint64_t counts[2] = {77, 77};
    CHECK(lw_event_count() > 40);
    for (size_t i = 0; i < lw_event_count(); i++)
        CHECK(strlen(lw_event_name(i)) > 5);
    CHECK(lw_event_name(lw_event_count()) == NULL);
    CHECK(strcmp(lw_event_name(0), "mutex_opt_lock") == 0);
    CHECK(lw_events(counts, 1) == 1 && counts[1] == 77);
    CHECK(lw_version()[0] == '0');
}

static void numa(void)
{
    lw_numa_t wanted = LW_NUMA_INIT, now;
    lw_numa_get(&now);
    CHECK(now.mode == LW_NUMA_OFF);
    wanted.mode = LW_NUMA_OFF;
    CHECK(memcmp(&wanted, &now, sizeof now) == 0);
    wanted.mode = LW_NUMA_DYNAMIC;
    wanted.batch = 64;
    int one = lw_numa_domains() < 2;
    CHECK(lw_numa_set(&wanted) == (one ? ENOTSUP : 0));
    lw_numa_get(&now);
    CHECK(now.mode == (one ? LW_NUMA_OFF : LW_NUMA_DYNAMIC) && now.batch == (one ? 256 : 64));
    wanted.mode = 3;
    CHECK(lw_numa_set(&wanted) == EINVAL);
    wanted = (lw_numa_t)LW_NUMA_INIT;
    wanted.depth = 4;
    CHECK(lw_numa_set(&wanted) == EINVAL);
    wanted = (lw_numa_t)LW_NUMA_INIT;
    wanted.mode = LW_NUMA_OFF;
    CHECK(lw_numa_set(&wanted) == 0);
}

int main(void)
{
    numa();
    mutexes();
    rwlocks();
    conds();
    events();
    puts("all as the header says");
    return 0;
}
