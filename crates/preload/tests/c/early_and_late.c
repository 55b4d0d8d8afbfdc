/* Locks before main, in destructors, after exit has begun, and in a thread that outlives main. */
#include "show.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static int told;

static void all(const char *when)
{
    struct timespec past = {0, 0};
    printf("== %s\n", when);
    SHOW(pthread_mutex_lock(&m));
    SHOW(pthread_cond_timedwait(&c, &m, &past));
    SHOW(pthread_cond_broadcast(&c));
    SHOW(pthread_mutex_unlock(&m));
    SHOW(pthread_rwlock_rdlock(&l));
    SHOW(pthread_rwlock_unlock(&l));
    SHOW(pthread_rwlock_wrlock(&l));
    SHOW(pthread_rwlock_unlock(&l));
}

/* Contended, so that the slow paths run at that time too. */
static void *contends(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        MUST(pthread_mutex_lock(&m) == 0);
        MUST(pthread_mutex_unlock(&m) == 0);
        MUST(pthread_rwlock_wrlock(&l) == 0);
        MUST(pthread_rwlock_unlock(&l) == 0);
    }
    return unused;
}

static void contend(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        MUST(pthread_create(&threads[i], NULL, contends, NULL) == 0);
    for (int i = 0; i < 4; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
}

static void of_thread(void *value)
{
    /* Destructors of thread-specific data, also after the one of the locks. */
    contends(NULL);
    static int rounds;
    if (rounds++ < 3)
        pthread_setspecific(key, value);
}

static void *has_a_destructor(void *unused)
{
    MUST(pthread_setspecific(key, &key) == 0);
    contends(NULL);
    return unused;
}

static void before_main(void) __attribute__((constructor(101)));
static void before_main(void)
{
    all("constructor");
    contend();
}

static void after_main(void) __attribute__((destructor(101)));
static void after_main(void)
{
    all("destructor");
    contend();
}

static void at_exit(void) { all("atexit"); }

static void *outlives(void *unused)
{
    MUST(pthread_mutex_lock(&m) == 0);
    while (!told)
        pthread_cond_wait(&c, &m);
    MUST(pthread_mutex_unlock(&m) == 0);
    exit(3);
    return unused;
}

int main(void)
{
    pthread_t thread;
    all("main");
    MUST(atexit(at_exit) == 0);
    MUST(pthread_key_create(&key, of_thread) == 0);
    MUST(pthread_create(&thread, NULL, has_a_destructor, NULL) == 0);
    contend();
    MUST(pthread_join(thread, NULL) == 0);
    MUST(pthread_create(&thread, NULL, outlives, NULL) == 0);
    MUST(pthread_detach(thread) == 0);
    MUST(pthread_mutex_lock(&m) == 0);
    told = 1;
    MUST(pthread_cond_signal(&c) == 0);
    MUST(pthread_mutex_unlock(&m) == 0);
    pthread_exit(NULL);
}
