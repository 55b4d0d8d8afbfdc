/* C11's mutexes and condition variables. */
#include "show.h"
#include <threads.h>

static mtx_t m;
static cnd_t c;
static int turns;

static int lock(void *mutex) { return mtx_lock(mutex); }
static int try(void *mutex) { return mtx_trylock(mutex); }
static int timed(void *mutex)
{
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    return mtx_timedlock(mutex, &soon);
}
static int pair(void *mutex)
{
    int result = mtx_lock(mutex);
    return result == thrd_success ? mtx_unlock(mutex) : result;
}

static void calls(int type)
{
    struct timespec past = {0, 0}, bad = {0, -1};
    printf("== type %d\n", type);
    memset(&m, 0x5a, sizeof m);
    int recursive = type == mtx_recursive || type == (mtx_recursive | mtx_timed);
    int made = mtx_init(&m, type);
    VALUE(made);
    if (made != thrd_success)
        return;
    VALUE(mtx_lock(&m));
    VALUE(mtx_trylock(&m));
    if (recursive) {
        VALUE(lock(&m));
        VALUE(mtx_unlock(&m));
        VALUE(mtx_unlock(&m));
    }
    VALUE(elsewhere(try, &m));
    VALUE(elsewhere(timed, &m));
    if (!recursive) {
        VALUE(mtx_timedlock(&m, &past));
        VALUE(mtx_timedlock(&m, &bad));
    }
    VALUE(mtx_unlock(&m));
    VALUE(elsewhere(pair, &m));
    VALUE(timed(&m));
    VALUE(mtx_unlock(&m));
    mtx_destroy(&m);
}

static int takes_turns(void *argument)
{
    int me = *(int *)argument;
    for (int i = 0; i < 2000; i++) {
        MUST(mtx_lock(&m) == thrd_success);
        while (turns % 3 != me)
            MUST(cnd_wait(&c, &m) == thrd_success);
        turns++;
        MUST(cnd_broadcast(&c) == thrd_success);
        MUST(mtx_unlock(&m) == thrd_success);
    }
    return me;
}

int main(void)
{
    thrd_t threads[3];
    int me[3] = {0, 1, 2}, result;
    for (int type = 0; type < 8; type++)
        calls(type);
    VALUE(mtx_init(&m, mtx_timed));
    VALUE(cnd_init(&c));
    for (int i = 0; i < 3; i++)
        MUST(thrd_create(&threads[i], takes_turns, &me[i]) == thrd_success);
    for (int i = 0; i < 3; i++) {
        MUST(thrd_join(threads[i], &result) == thrd_success);
        VALUE(result);
    }
    VALUE(turns);
    VALUE(mtx_lock(&m));
    struct timespec soon = in_ms(CLOCK_REALTIME, 20), bad = {0, -1};
    VALUE(cnd_timedwait(&c, &m, &soon));
    VALUE(cnd_timedwait(&c, &m, &bad));
    VALUE(cnd_signal(&c));
    VALUE(mtx_unlock(&m));
    cnd_destroy(&c);
    mtx_destroy(&m);
    return 0;
}
