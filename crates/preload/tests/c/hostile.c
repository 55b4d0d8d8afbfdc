/* Where the system gives less than usual: hostile seccomp|chroot|limits. The locks work all the same. */
#include "show.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static long count;

static void *contends(void *unused)
{
    for (int i = 0; i < 5000; i++) {
        MUST(pthread_mutex_lock(&m) == 0);
        count++;
        if (i % 100 == 0) {
            struct timespec soon = in_ms(CLOCK_REALTIME, 0);
            pthread_cond_timedwait(&c, &m, &soon);
        }
        MUST(pthread_mutex_unlock(&m) == 0);
        MUST(pthread_cond_signal(&c) == 0);
        MUST(pthread_rwlock_wrlock(&l) == 0);
        MUST(pthread_rwlock_unlock(&l) == 0);
    }
    return unused;
}

static void without_membarrier(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    MUST(argc == 3);
    if (strcmp(argv[1], "seccomp") == 0)
        without_membarrier();
    if (strcmp(argv[1], "chroot") == 0)
        MUST(chroot(argv[2]) == 0 && chdir("/") == 0);
    if (strcmp(argv[1], "limits") == 0) {
        struct rlimit files = {3, 3}, locked = {0, 0};
        MUST(setrlimit(RLIMIT_NOFILE, &files) == 0 && setrlimit(RLIMIT_MEMLOCK, &locked) == 0);
    }
    for (int i = 0; i < 4; i++)
        MUST(pthread_create(&threads[i], NULL, contends, NULL) == 0);
    for (int i = 0; i < 4; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    VALUE(count);
    return 0;
}
