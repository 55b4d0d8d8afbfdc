/* Two words that belong together, read without storing anything: a sequence counter; and what is done once. */
#include <lockwright.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static lw_seqcount_t count = LW_SEQCOUNT_INIT;
static lw_mutex_t writers = LW_MUTEX_INIT_WITH(LW_MUTEX_ERRORCHECK, LW_POLICY_LATENCY);
static lw_once_t once = LW_ONCE_INIT;
static _Atomic long seconds, nanoseconds;
static int set_up;

static void set_up_once(void) { set_up++; }

static void *read_clock(void *torn)
{
    lw_once(&once, set_up_once);
    for (int i = 0; i < 100000; i++) {
        uint64_t start;
        long s, ns;
        do {
            start = lw_seqcount_read_begin(&count);
            s = atomic_load_explicit(&seconds, memory_order_relaxed);
            ns = atomic_load_explicit(&nanoseconds, memory_order_relaxed);
        } while (lw_seqcount_read_retry(&count, start));
        if (ns != s * 7)
            ++*(int *)torn;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    int torn[2] = {0};
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, read_clock, &torn[i]))
            return EXIT_FAILURE;
    for (long i = 0; i < 50000; i++) {
        lw_mutex_lock(&writers);
        lw_seqcount_write_begin(&count);
        atomic_store_explicit(&seconds, i, memory_order_relaxed);
        atomic_store_explicit(&nanoseconds, i * 7, memory_order_relaxed);
        lw_seqcount_write_end(&count);
        lw_mutex_unlock(&writers);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d torn, set up %d times\n", torn[0] + torn[1], set_up);
    return torn[0] + torn[1] == 0 && set_up == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
