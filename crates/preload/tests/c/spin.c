/* Spin locks: results, and those shared between processes. */
#include "show.h"

static int try(void *l) { return pthread_spin_trylock(l); }

static pthread_spinlock_t counted;
static long count;

static void *counts(void *unused)
{
    for (int i = 0; i < 50000; i++) {
        if (i % 3 == 0) {
            while (pthread_spin_trylock(&counted) == EBUSY)
                sched_yield();
        } else {
            MUST(pthread_spin_lock(&counted) == 0);
        }
        count++;
        MUST(pthread_spin_unlock(&counted) == 0);
    }
    return unused;
}

static void calls(pthread_spinlock_t *l)
{
    SHOW(pthread_spin_lock(l));
    SHOW(pthread_spin_trylock(l));
    SHOW(elsewhere(try, (void *)l));
    SHOW(pthread_spin_unlock(l));
    SHOW(pthread_spin_trylock(l));
    SHOW(pthread_spin_unlock(l));
}

int main(void)
{
    pthread_spinlock_t l;
    pthread_t threads[6];
    int status;
    SHOW(pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE));
    calls(&l);
    SHOW(pthread_spin_destroy(&l));

    pthread_spinlock_t *shared =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(shared != MAP_FAILED);
    SHOW(pthread_spin_init((void *)shared, PTHREAD_PROCESS_SHARED));
    calls((void *)shared);
    SHOW(pthread_spin_lock(shared));
    pid_t child = fork();
    if (child == 0) {
        int before = pthread_spin_trylock(shared);
        pthread_spin_unlock(shared);
        _exit(before);
    }
    MUST(waitpid(child, &status, 0) == child);
    SHOW(WEXITSTATUS(status));
    SHOW(pthread_spin_trylock(shared));
    SHOW(pthread_spin_destroy(shared));

    SHOW(pthread_spin_init(&counted, PTHREAD_PROCESS_PRIVATE));
    for (int i = 0; i < 6; i++)
        MUST(pthread_create(&threads[i], NULL, counts, NULL) == 0);
    for (int i = 0; i < 6; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    VALUE(count);
    return 0;
}
