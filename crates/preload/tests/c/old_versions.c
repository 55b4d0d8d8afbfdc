/* A program linked long ago: it asks for the functions by the versions of then. Condition variables of
   2.2.5 were other objects inside the C library. */
#include "show.h"

#define OLD(result, name, version, arguments)                            \
    extern result old_##name arguments;                                  \
    __asm__(".symver old_" #name ", " #name "@GLIBC_" version)

OLD(int, pthread_mutex_trylock, "2.2.5", (pthread_mutex_t *));
OLD(int, pthread_mutex_timedlock, "2.2.5", (pthread_mutex_t *, const struct timespec *));
OLD(int, pthread_mutex_clocklock, "2.30", (pthread_mutex_t *, clockid_t, const struct timespec *));
OLD(int, pthread_rwlock_rdlock, "2.2.5", (pthread_rwlock_t *));
OLD(int, pthread_rwlock_wrlock, "2.2.5", (pthread_rwlock_t *));
OLD(int, pthread_rwlock_tryrdlock, "2.2.5", (pthread_rwlock_t *));
OLD(int, pthread_rwlock_clockwrlock, "2.30", (pthread_rwlock_t *, clockid_t, const struct timespec *));
OLD(int, pthread_rwlock_unlock, "2.2.5", (pthread_rwlock_t *));
OLD(int, pthread_cond_init, "2.2.5", (pthread_cond_t *, const pthread_condattr_t *));
OLD(int, pthread_cond_wait, "2.2.5", (pthread_cond_t *, pthread_mutex_t *));
OLD(int, pthread_cond_timedwait, "2.2.5",
    (pthread_cond_t *, pthread_mutex_t *, const struct timespec *));
OLD(int, pthread_cond_clockwait, "2.30",
    (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *));
OLD(int, pthread_cond_signal, "2.2.5", (pthread_cond_t *));
OLD(int, pthread_cond_broadcast, "2.2.5", (pthread_cond_t *));
OLD(int, pthread_cond_destroy, "2.2.5", (pthread_cond_t *));
OLD(int, pthread_spin_lock, "2.2.5", (pthread_spinlock_t *));
OLD(int, pthread_spin_trylock, "2.2.5", (pthread_spinlock_t *));
OLD(int, pthread_spin_unlock, "2.2.5", (pthread_spinlock_t *));

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, made;
/* Of a later version, so another object. */
static pthread_cond_t later = PTHREAD_COND_INITIALIZER;
static int turns;

static int try(void *mutex) { return old_pthread_mutex_trylock(mutex); }
static int tryrd(void *lock) { return old_pthread_rwlock_tryrdlock(lock); }

static void *takes_turns(void *argument)
{
    for (int i = 0; i < 1000; i++) {
        MUST(pthread_mutex_lock(&m) == 0);
        while (turns % 2 != (argument != NULL))
            MUST(old_pthread_cond_wait(argument ? &c : &made, &m) == 0);
        turns++;
        MUST((i % 2 ? old_pthread_cond_signal : old_pthread_cond_broadcast)(argument ? &made : &c) == 0);
        MUST(pthread_mutex_unlock(&m) == 0);
    }
    return NULL;
}

int main(void)
{
    struct timespec past = {0, 0};
    pthread_spinlock_t spin;
    pthread_t thread;
    char other;
    SHOW(pthread_mutex_lock(&m));
    SHOW(elsewhere(try, &m));
    SHOW(old_pthread_mutex_timedlock(&m, &past));
    SHOW(old_pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &past));
    SHOW(old_pthread_cond_timedwait(&c, &m, &past));
    SHOW(old_pthread_cond_clockwait(&later, &m, CLOCK_MONOTONIC, &past));
    SHOW(pthread_mutex_unlock(&m));
    SHOW(old_pthread_rwlock_rdlock(&l));
    SHOW(old_pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &past));
    SHOW(old_pthread_rwlock_unlock(&l));
    SHOW(old_pthread_rwlock_wrlock(&l));
    SHOW(elsewhere(tryrd, &l));
    SHOW(old_pthread_rwlock_unlock(&l));
    SHOW(pthread_spin_init(&spin, 0));
    SHOW(old_pthread_spin_lock(&spin));
    SHOW(old_pthread_spin_trylock(&spin));
    SHOW(old_pthread_spin_unlock(&spin));
    SHOW(old_pthread_cond_init(&made, NULL));
    MUST(pthread_create(&thread, NULL, takes_turns, &other) == 0);
    takes_turns(NULL);
    MUST(pthread_join(thread, NULL) == 0);
    VALUE(turns);
    SHOW(old_pthread_cond_destroy(&c));
    SHOW(old_pthread_cond_destroy(&made));
    return 0;
}
