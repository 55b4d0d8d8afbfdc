/* What the conformance programs share. Each prints what calls return; the same program, run with
   the C library's locks and with lockwright's, must print the same. */
#ifndef SHOW_H
#define SHOW_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Prints an expression and the error number that it returned, by name. */
#define SHOW(call) show(__LINE__, #call, (call))

static inline void show(int line, const char *text, int result)
{
    const char *name = strerrorname_np(result);
    if (name)
        printf("%d: %s = %s\n", line, text, name);
    else
        printf("%d: %s = %d\n", line, text, result);
    fflush(stdout);
}

/* Prints an expression's value. */
#define VALUE(expression) (printf("%d: %s = %ld\n", __LINE__, #expression, (long)(expression)), fflush(stdout))

/* For what must hold for the rest to make sense. */
#define MUST(condition)                                                  \
    do {                                                                 \
        if (!(condition)) {                                              \
            printf("%d: not so: %s\n", __LINE__, #condition);            \
            exit(99);                                                    \
        }                                                                \
    } while (0)

static inline struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    } else if (t.tv_nsec < 0) {
        t.tv_sec--;
        t.tv_nsec += 1000000000;
    }
    return t;
}

/* Runs f in another thread to its end, and returns what it returns. */
static inline int elsewhere(int (*f)(void *), void *argument);

struct elsewhere_call {
    int (*f)(void *);
    void *argument;
    int result;
};

static inline void *elsewhere_body(void *c)
{
    struct elsewhere_call *call = c;
    call->result = call->f(call->argument);
    return NULL;
}

static inline int elsewhere(int (*f)(void *), void *argument)
{
    struct elsewhere_call call = {f, argument, -1};
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, elsewhere_body, &call) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    return call.result;
}

/* Whether a thread sleeps or runs is nobody's business but the scheduler's: this waits until the
   thread with this number has slept for a while, that is, is blocked. */
static inline void until_blocked(atomic_int *tid)
{
    char name[64], state = 'R';
    int seen = 0;
    while (atomic_load(tid) == 0)
        sched_yield();
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", atomic_load(tid));
    while (seen < 5) {
        FILE *file = fopen(name, "r");
        MUST(file);
        MUST(fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
        fclose(file);
        seen = state == 'S' ? seen + 1 : 0;
        usleep(2000);
    }
}

#endif
