//! The shared library's name in programs that are linked with it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The number changes when programs must be linked anew.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblockwright.so.0");
}
