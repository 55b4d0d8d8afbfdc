/* A table that is read often and seldom written: a reader-writer lock, and lock events at the end. */
#include <errno.h>
#include <lockwright.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUTES = 64, READERS = 4, LOOKUPS = 20000 };

static lw_rwlock_t lock = LW_RWLOCK_INIT;
static int routes[ROUTES], version;

static void *look_up(void *wrong)
{
    for (int i = 0; i < LOOKUPS; i++) {
        lw_rwlock_rdlock(&lock);
        if (routes[i % ROUTES] != version)
            ++*(int *)wrong;
        lw_rwlock_rdunlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[READERS];
    int wrong[READERS] = {0}, faults = 0;
    for (int i = 0; i < READERS; i++)
        if (pthread_create(&threads[i], NULL, look_up, &wrong[i]))
            return EXIT_FAILURE;
    for (int i = 0; i < 200; i++) {
        lw_rwlock_wrlock(&lock);
        version++;
        for (int r = 0; r < ROUTES; r++)
            routes[r] = version;
        /* Looks at what it wrote, with the readers already in. */
        lw_rwlock_downgrade(&lock);
        faults += routes[0] != version;
        lw_rwlock_rdunlock(&lock);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        faults += wrong[i];
    }
    /* Not more than half a second for a lock that nobody holds. */
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += 500000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    if (lw_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &at) == ETIMEDOUT)
        return EXIT_FAILURE;
    lw_rwlock_wrunlock(&lock);

    size_t events = lw_event_count();
    uint64_t *counts = calloc(events, sizeof *counts);
    if (!counts || lw_events(counts, events) != events)
        return EXIT_FAILURE;
    for (size_t i = 0; i < events; i++)
        if (counts[i])
            fprintf(stderr, "%-22s %llu\n", lw_event_name(i), (unsigned long long)counts[i]);
    free(counts);
    printf("%d faults\n", faults);
    return faults ? EXIT_FAILURE : EXIT_SUCCESS;
}
