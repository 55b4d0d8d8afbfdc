/* Each kind of mutex, and every way to make one, under every call. */
#include "show.h"

static int lock(void *m) { return pthread_mutex_lock(m); }
static int try(void *m) { return pthread_mutex_trylock(m); }
static int unlock(void *m) { return pthread_mutex_unlock(m); }
static int timed(void *m)
{
    struct timespec t = in_ms(CLOCK_REALTIME, 20);
    return pthread_mutex_timedlock(m, &t);
}

/* Locks and unlocks, so that nothing is left. */
static int pair(void *m)
{
    int result = pthread_mutex_lock(m);
    return result ? result : pthread_mutex_unlock(m);
}

static void all_calls(const char *name, pthread_mutex_t *m, int relock, int foreign_unlock)
{
    struct timespec past = {0, 0}, soon;
    printf("== %s\n", name);
    SHOW(lock(m));
    SHOW(try(m));
    SHOW(elsewhere(try, m));
    SHOW(elsewhere(timed, m));
    if (relock) {
        SHOW(lock(m));
        SHOW(lock(m));
    }
    SHOW(pthread_mutex_timedlock(m, &past));
    soon = in_ms(CLOCK_MONOTONIC, 20);
    SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon));
    SHOW(pthread_mutex_destroy(m));
    if (foreign_unlock)
        SHOW(elsewhere(unlock, m));
    for (int i = 0; i < 8; i++)
        SHOW(unlock(m));
    SHOW(elsewhere(pair, m));
    SHOW(try(m));
    SHOW(unlock(m));
    SHOW(timed(m));
    SHOW(unlock(m));
    SHOW(pthread_mutex_timedlock(m, &past));
    SHOW(unlock(m));
    SHOW(pthread_mutex_destroy(m));
}

/* Of a kind that does not check its holder, only what is defined. */
static void plain_calls(const char *name, pthread_mutex_t *m)
{
    struct timespec past = {0, 0};
    printf("== %s\n", name);
    SHOW(lock(m));
    SHOW(try(m));
    SHOW(timed(m));
    SHOW(pthread_mutex_timedlock(m, &past));
    SHOW(elsewhere(try, m));
    SHOW(elsewhere(timed, m));
    SHOW(pthread_mutex_destroy(m));
    SHOW(unlock(m));
    SHOW(elsewhere(pair, m));
    /* The C library lets any thread unlock it, and programs do. */
    SHOW(lock(m));
    SHOW(elsewhere(unlock, m));
    SHOW(elsewhere(pair, m));
    SHOW(pthread_mutex_destroy(m));
    SHOW(lock(m));
    SHOW(try(m));
    SHOW(unlock(m));
}

int main(void)
{
    static pthread_mutex_t zero;
    static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
    static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    static const struct { const char *name; int type; } types[] = {
        {"normal", PTHREAD_MUTEX_NORMAL}, {"default", PTHREAD_MUTEX_DEFAULT},
        {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP}, {"recursive", PTHREAD_MUTEX_RECURSIVE},
        {"errorcheck", PTHREAD_MUTEX_ERRORCHECK}};
    pthread_mutex_t made;
    pthread_mutexattr_t attr;

    plain_calls("zeroes", &zero);
    plain_calls("static normal", &normal);
    plain_calls("static adaptive", &adaptive);
    all_calls("static recursive", &recursive, 1, 1);
    all_calls("static errorcheck", &checking, 1, 1);
    memset(&made, 0x5a, sizeof made);
    SHOW(pthread_mutex_init(&made, NULL));
    plain_calls("made without attributes", &made);
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
        memset(&made, 0x5a, sizeof made);
        SHOW(pthread_mutexattr_init(&attr));
        SHOW(pthread_mutexattr_settype(&attr, types[i].type));
        SHOW(pthread_mutex_init(&made, &attr));
        SHOW(pthread_mutexattr_destroy(&attr));
        if (types[i].type == PTHREAD_MUTEX_RECURSIVE || types[i].type == PTHREAD_MUTEX_ERRORCHECK)
            all_calls(types[i].name, &made, 1, 1);
        else
            plain_calls(types[i].name, &made);
    }
    SHOW(pthread_mutexattr_init(&attr));
    SHOW(pthread_mutexattr_settype(&attr, 77));
    return 0;
}
