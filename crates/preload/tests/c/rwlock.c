/* Reader-writer locks: every call in every state, the kinds, the clocks. */
#include "show.h"

static int rd(void *l) { return pthread_rwlock_rdlock(l); }
static int wr(void *l) { return pthread_rwlock_wrlock(l); }
static int tryrd(void *l) { return pthread_rwlock_tryrdlock(l); }
static int trywr(void *l) { return pthread_rwlock_trywrlock(l); }
static int un(void *l) { return pthread_rwlock_unlock(l); }
static int timedrd(void *l)
{
    struct timespec t = in_ms(CLOCK_REALTIME, 20);
    return pthread_rwlock_timedrdlock(l, &t);
}
static int timedwr(void *l)
{
    struct timespec t = in_ms(CLOCK_REALTIME, 20);
    return pthread_rwlock_timedwrlock(l, &t);
}
static int clockrd(void *l)
{
    struct timespec t = in_ms(CLOCK_MONOTONIC, 20);
    return pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &t);
}
static int clockwr(void *l)
{
    struct timespec t = in_ms(CLOCK_MONOTONIC, 20);
    return pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &t);
}
static int rd_pair(void *l)
{
    int result = pthread_rwlock_rdlock(l);
    return result ? result : pthread_rwlock_unlock(l);
}
static int tryrd_pair(void *l)
{
    int result = pthread_rwlock_tryrdlock(l);
    return result ? result : pthread_rwlock_unlock(l);
}

static void states(const char *name, pthread_rwlock_t *l)
{
    printf("== %s\n", name);
    SHOW(rd(l));
    SHOW(rd(l));
    SHOW(tryrd(l));
    SHOW(trywr(l));
    SHOW(timedwr(l));
    SHOW(clockwr(l));
    SHOW(elsewhere(rd_pair, l));
    SHOW(elsewhere(trywr, l));
    SHOW(elsewhere(timedwr, l));
    SHOW(elsewhere(clockwr, l));
    SHOW(un(l));
    SHOW(un(l));
    SHOW(un(l));
    SHOW(wr(l));
    SHOW(wr(l));
    SHOW(rd(l));
    SHOW(tryrd(l));
    SHOW(trywr(l));
    SHOW(timedrd(l));
    SHOW(timedwr(l));
    SHOW(clockrd(l));
    SHOW(clockwr(l));
    SHOW(elsewhere(tryrd, l));
    SHOW(elsewhere(trywr, l));
    SHOW(elsewhere(timedrd, l));
    SHOW(elsewhere(timedwr, l));
    SHOW(elsewhere(clockrd, l));
    SHOW(elsewhere(clockwr, l));
    SHOW(un(l));
    SHOW(timedrd(l));
    SHOW(clockrd(l));
    SHOW(un(l));
    SHOW(un(l));
    SHOW(timedwr(l));
    SHOW(un(l));
    SHOW(clockwr(l));
    SHOW(un(l));
    SHOW(trywr(l));
    SHOW(un(l));
    SHOW(pthread_rwlock_destroy(l));
}

static void times(pthread_rwlock_t *l, const char *name)
{
    static const struct timespec times[] = {
        {0, 0}, {0, -1}, {0, 1000000000}, {-1, 0}, {-1, 5}, {-1, 1000000000}};
    static const clockid_t clocks[] = {
        CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_BOOTTIME, -1, 999};
    printf("== times, %s\n", name);
    for (unsigned i = 0; i < sizeof times / sizeof *times; i++) {
        VALUE(i);
        SHOW(pthread_rwlock_timedrdlock(l, &times[i]));
        SHOW(pthread_rwlock_timedwrlock(l, &times[i]));
        for (unsigned c = 0; c < sizeof clocks / sizeof *clocks; c++) {
            SHOW(pthread_rwlock_clockrdlock(l, clocks[c], &times[i]));
            SHOW(pthread_rwlock_clockwrlock(l, clocks[c], &times[i]));
        }
    }
}

static int times_elsewhere(void *l)
{
    times(l, "another writes");
    return 0;
}

struct writer {
    pthread_rwlock_t *lock;
    atomic_int tid;
};

static void *writes(void *w)
{
    struct writer *writer = w;
    atomic_store(&writer->tid, gettid());
    MUST(pthread_rwlock_wrlock(writer->lock) == 0);
    MUST(pthread_rwlock_unlock(writer->lock) == 0);
    return NULL;
}

/* A reader reads again, and others begin to read, although a writer waits: what the kinds differ in. */
static void past_a_writer(const char *name, pthread_rwlock_t *l, int may_reenter)
{
    struct writer writer = {l, 0};
    pthread_t thread;
    printf("== past a waiting writer, %s\n", name);
    SHOW(rd(l));
    MUST(pthread_create(&thread, NULL, writes, &writer) == 0);
    until_blocked(&writer.tid);
    if (may_reenter) {
        SHOW(rd(l));
        SHOW(un(l));
        SHOW(elsewhere(rd_pair, l));
        SHOW(timedrd(l));
        SHOW(un(l));
    }
    SHOW(elsewhere(tryrd_pair, l));
    SHOW(trywr(l));
    SHOW(elsewhere(trywr, l));
    if (!may_reenter)
        SHOW(elsewhere(timedrd, l));
    SHOW(un(l));
    MUST(pthread_join(thread, NULL) == 0);
    SHOW(trywr(l));
    SHOW(un(l));
}

static void shared(void)
{
    pthread_rwlockattr_t attr;
    int pshared = -1, status;
    pthread_rwlock_t *l =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(l != MAP_FAILED);
    printf("== shared\n");
    SHOW(pthread_rwlockattr_init(&attr));
    SHOW(pthread_rwlockattr_getpshared(&attr, &pshared));
    VALUE(pshared);
    SHOW(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    SHOW(pthread_rwlockattr_getpshared(&attr, &pshared));
    VALUE(pshared);
    SHOW(pthread_rwlockattr_setpshared(&attr, 9));
    SHOW(pthread_rwlock_init(l, &attr));
    for (int write = 0; write < 2; write++) {
        SHOW(write ? wr(l) : rd(l));
        pid_t child = fork();
        if (child == 0)
            _exit((trywr(l) == EBUSY) + 2 * (tryrd(l) == EBUSY) + 4 * (timedwr(l) == ETIMEDOUT));
        MUST(waitpid(child, &status, 0) == child);
        VALUE(WEXITSTATUS(status));
        SHOW(un(l));
        if (!write)
            SHOW(un(l)); /* The child's, which ended reading. */
    }
    states("shared", l);
}

int main(void)
{
    static pthread_rwlock_t zero;
    static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_rwlock_t writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_rwlockattr_t attr;
    pthread_rwlock_t l;
    int kind = -1;

    states("zeroes", &zero);
    states("static", &plain);
    states("static, writers preferred", &writers);
    for (int k = -1; k < 5; k++) {
        memset(&l, 0x5a, sizeof l);
        VALUE(k);
        SHOW(pthread_rwlockattr_init(&attr));
        SHOW(pthread_rwlockattr_setkind_np(&attr, k));
        SHOW(pthread_rwlockattr_getkind_np(&attr, &kind));
        VALUE(kind);
        SHOW(pthread_rwlock_init(&l, &attr));
        SHOW(pthread_rwlockattr_destroy(&attr));
        states("of a kind", &l);
        SHOW(pthread_rwlock_init(&l, k < 0 ? NULL : &attr));
        past_a_writer("of a kind", &l, kind != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    }
    SHOW(pthread_rwlock_init(&l, NULL));
    SHOW(rd(&l));
    printf("held for reading\n");
    SHOW(pthread_rwlock_timedwrlock(&l, &(struct timespec){0, 0}));
    SHOW(pthread_rwlock_timedwrlock(&l, &(struct timespec){-1, 0}));
    SHOW(pthread_rwlock_timedwrlock(&l, &(struct timespec){0, -1}));
    SHOW(un(&l));
    SHOW(wr(&l));
    times(&l, "the caller writes");
    SHOW(elsewhere(times_elsewhere, &l));
    SHOW(un(&l));
    shared();
    return 0;
}
