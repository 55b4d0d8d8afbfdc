#!/usr/bin/env bash
# The C API as a user meets it: installed, found by pkg-config, its header taken by C11 and C++17 without a
# warning, its examples and tests built with gcc and g++ against the shared and the static library, and run.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 600 "the C API installs, and its examples and tests build and run"
command -v pkg-config >/dev/null || apt_install pkg-config || skip "cannot install pkg-config"
command -v g++ >/dev/null || apt_install g++ || skip "cannot install a C++ compiler"
scratch
bash install.sh --prefix "$SCRATCH/usr" c
export PKG_CONFIG_PATH=$SCRATCH/usr/lib/pkgconfig
read -ra flags <<<"$(pkg-config --cflags --libs lockwright)"
strict=(-O1 -Wall -Wextra -Wpedantic -Werror)

library=$SCRATCH/usr/lib/liblockwright.so
readelf -d "$library" | grep -q 'SONAME.*\[liblockwright\.so\.0\]' || fail "the shared library has another soname"
! nm -D --undefined-only "$library" | grep -q __tls_get_addr || fail "thread-local storage takes a call"
others=$(nm -D --defined-only "$library" | awk '$3 !~ /^lw_/ { print $3 }')
[[ -z $others ]] || fail "the shared library exports $others"
others=$(nm -g --defined-only "$SCRATCH/usr/lib/liblockwright.a" | awk 'NF == 3 && $3 !~ /^lw_/ { print $3 }')
[[ -z $others ]] || fail "the static library defines $others"
declared=$(grep -o '\blw_[a-z_]*(' crates/capi/include/lockwright.h | tr -d '(' | sort -u)
exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sort)
[[ $declared == "$exported" ]] || fail "the header and the library disagree: $(comm -3 <(echo "$declared") <(echo "$exported"))"

# Twice, and before anything else.
for header in lockwright.h lockwright.hpp; do
    printf '#include <%s>\n#include <%s>\nint main() { return 0; }\n' "$header" "$header" >"$SCRATCH/twice.cc"
    g++ -std=c++17 "${strict[@]}" -o "$SCRATCH/twice" "$SCRATCH/twice.cc" "${flags[@]}"
done
printf '#include <lockwright.h>\nint main(void) { lw_mutex_t m = LW_MUTEX_INIT; return lw_mutex_lock(&m); }\n' >"$SCRATCH/once.c"
gcc -std=c11 "${strict[@]}" -D_POSIX_C_SOURCE=200809L -o "$SCRATCH/once" "$SCRATCH/once.c" "${flags[@]}"

count=0
# What the page for users of C shows is a program.
sed -n '/^```c$/,/^```$/{/^```/d;p}' docs/c.md >"$SCRATCH/page.c"
for source in crates/capi/examples/*.c* crates/capi/tests/c/*.c* "$SCRATCH/page.c"; do
    name=$(basename "$source")
    case $name in
    *.cc) compiler=(g++ -std=c++17) ;;
    *) compiler=(gcc -std=c11 -D_POSIX_C_SOURCE=200809L) ;;
    esac
    "${compiler[@]}" "${strict[@]}" -o "$SCRATCH/shared" "$source" "${flags[@]}" -pthread
    "${compiler[@]}" "${strict[@]}" -o "$SCRATCH/static" "$source" "${flags[0]}" "$SCRATCH/usr/lib/liblockwright.a" -pthread
    ldd "$SCRATCH/static" | grep -q lockwright && fail "$name needs the shared library although linked with the static one"
    for how in shared static; do
        # As if there were domains, and as it is.
        [[ $name != results.c ]] || LOCKWRIGHT_TOPOLOGY=threads:4 LD_LIBRARY_PATH=$SCRATCH/usr/lib timeout 60 \
            "$SCRATCH/$how" >"$SCRATCH/out" 2>&1 || fail "$name, $how, with domains: $(<"$SCRATCH/out")"
        LD_LIBRARY_PATH=$SCRATCH/usr/lib timeout 60 "$SCRATCH/$how" >"$SCRATCH/out" 2>&1 ||
            fail "$name, $how: exit code $?: $(<"$SCRATCH/out")"
    done
    count=$((count + 1))
done
echo "capi: $count programs, each with both libraries"
