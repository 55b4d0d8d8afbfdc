#!/usr/bin/env bash
# Builds and installs: install.sh [--prefix DIR] [--destdir DIR] [c] [preload] [command]
#   c        lockwright.h, lockwright.hpp, liblockwright.so, liblockwright.a, lockwright.pc
#   preload  liblockwright_preload.so, for programs as they are
#   command  lockwright, its manual pages and completions; without a choice, all three
# The prefix is /usr/local unless given; the destdir is put before it, for packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() {
    sed -n '2,6s/^# //p' "$0" >&2
    exit 2
}
prefix=/usr/local destdir='' parts=()
while (($#)); do
    case $1 in
    --prefix) [[ $# -gt 1 ]] || usage; prefix=$2; shift ;;
    --prefix=*) prefix=${1#*=} ;;
    --destdir) [[ $# -gt 1 ]] || usage; destdir=$2; shift ;;
    --destdir=*) destdir=${1#*=} ;;
    c | preload | command) parts+=("$1") ;;
    *) usage ;;
    esac
    shift
done
[[ $prefix == /* ]] || { echo "install.sh: --prefix must be an absolute path" >&2; exit 2; }
((${#parts[@]})) || parts=(c preload command)

declare -A package=([c]=lockwright-capi [preload]=lockwright-preload [command]=lockwright-cli)
packages=()
for part in "${parts[@]}"; do packages+=(-p "${package[$part]}"); done
cargo build --release "${packages[@]}"
built=${CARGO_TARGET_DIR:-target}/release
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
to=$destdir$prefix

# One object with the API's names and no other, so that it goes with other libraries written in Rust.
static_library() {
    local dir
    dir=$(mktemp -d)
    ld -r -o "$dir/lockwright.o" --gc-sections \
        $(sed -n 's/.*\b\(lw_[a-z_]*\)(.*/-u \1/p' crates/capi/include/lockwright.h | sort -u) \
        "$built/liblockwright_capi.a"
    objcopy --wildcard --keep-global-symbol='lw_*' --strip-debug \
        --remove-section=.llvmbc --remove-section=.llvmcmd "$dir/lockwright.o"
    rm -f "$1"
    ar rcsD "$1" "$dir/lockwright.o"
    rm -r "$dir"
}

# The completions of a shell, in the place where it looks for them.
completions() {
    install -d "$to/${2%/*}"
    "$built/lockwright" completions "$1" >"$to/$2"
}

for part in "${parts[@]}"; do
    case $part in
    c)
        install -d "$to/include" "$to/lib/pkgconfig"
        install -m 644 crates/capi/include/lockwright.h crates/capi/include/lockwright.hpp "$to/include"
        install -m 755 "$built/liblockwright_capi.so" "$to/lib/liblockwright.so.$version"
        ln -sf "liblockwright.so.$version" "$to/lib/liblockwright.so.0"
        ln -sf liblockwright.so.0 "$to/lib/liblockwright.so"
        static_library "$to/lib/liblockwright.a"
        cat >"$to/lib/pkgconfig/lockwright.pc" <<PC
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: lockwright
Description: Linux-kernel-grade sleeping locks for ordinary programs
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -llockwright
PC
        ;;
    preload)
        install -d "$to/lib"
        install -m 755 "$built/liblockwright_preload.so" "$to/lib"
        ;;
    command)
        install -d "$to/bin"
        install -m 755 "$built/lockwright" "$to/bin"
        "$built/lockwright" man "$to/share/man/man1"
        completions bash share/bash-completion/completions/lockwright
        completions zsh share/zsh/site-functions/_lockwright
        completions fish share/fish/vendor_completions.d/lockwright.fish
        ;;
    esac
done
echo "installed to $to: ${parts[*]}"
