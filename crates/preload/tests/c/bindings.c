/* Which library each name of each version binds to: the names are in bindings.inc, made from the C
   library's own list. */
#include "show.h"
#include <dlfcn.h>

#define BINDING(number, name, version)                                              \
    extern void binding_##number(void);                                             \
    __asm__(".symver binding_" #number ", " #name "@" version);
#include BINDINGS
#undef BINDING

static void say(const char *name, const char *version, void *function)
{
    Dl_info info;
    MUST(dladdr(function, &info));
    const char *file = strrchr(info.dli_fname, '/');
    printf("%s@%s %s\n", name, version, file ? file + 1 : info.dli_fname);
}

int main(void)
{
#define BINDING(number, name, version) say(#name, version, (void *)binding_##number);
#include BINDINGS
    return 0;
}
