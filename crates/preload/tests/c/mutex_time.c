/* Time-outs of mutexes: which times and clocks are refused, and when. */
#include "show.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static long waited_ms(clockid_t clock, long ms, int which)
{
    struct timespec at = in_ms(clock, ms), from = in_ms(CLOCK_MONOTONIC, 0), to;
    int result = which ? pthread_mutex_clocklock(&m, clock, &at) : pthread_mutex_timedlock(&m, &at);
    MUST(result == ETIMEDOUT);
    to = in_ms(CLOCK_MONOTONIC, 0);
    return (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
}

static int bad_times(void *held)
{
    static const struct timespec times[] = {
        {0, 0}, {0, -1}, {0, 1000000000}, {-1, 0}, {-1, 5}, {-5, 999999999}, {1, 1000000000},
        {INT64_MAX, -1}};
    static const clockid_t clocks[] = {
        CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
        CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_BOOTTIME, CLOCK_TAI, -1, 999};
    printf("== %s\n", held ? "held" : "free");
    for (unsigned i = 0; i < sizeof times / sizeof *times; i++) {
        int result = pthread_mutex_timedlock(&m, &times[i]);
        VALUE(i);
        SHOW(result);
        if (result == 0)
            pthread_mutex_unlock(&m);
        for (unsigned c = 0; c < sizeof clocks / sizeof *clocks; c++) {
            result = pthread_mutex_clocklock(&m, clocks[c], &times[i]);
            SHOW(result);
            if (result == 0)
                pthread_mutex_unlock(&m);
        }
    }
    return 0;
}

int main(void)
{
    struct timespec far = {INT64_MAX, 0};
    bad_times(NULL);
    SHOW(pthread_mutex_lock(&m));
    SHOW(elsewhere(bad_times, &m));
    VALUE(waited_ms(CLOCK_REALTIME, 30, 0) >= 30);
    VALUE(waited_ms(CLOCK_REALTIME, 30, 1) >= 30);
    VALUE(waited_ms(CLOCK_MONOTONIC, 30, 1) >= 30);
    VALUE(waited_ms(CLOCK_MONOTONIC, -30, 1) < 1000);
    SHOW(pthread_mutex_unlock(&m));
    SHOW(pthread_mutex_timedlock(&m, &far));
    SHOW(pthread_mutex_unlock(&m));
    SHOW(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &far));
    SHOW(pthread_mutex_unlock(&m));
    return 0;
}
