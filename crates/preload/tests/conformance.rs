//! Each function and attribute, held against the C library: the same program with and without the
//! interposer prints the same.
#![cfg(not(any(loom, miri)))]

mod support;

use support::{compile, same_with_and_without};

macro_rules! conformance {
    ($($name:ident;)*) => {$(
        #[test]
        fn $name() {
            same_with_and_without(&compile(stringify!($name), &[]), &[]);
        }
    )*};
}

conformance! {
    mutex_kinds;
    mutex_time;
    mutex_attributes;
    rwlock;
    spin;
    churn;
    cond;
    cancel;
    c11;
    early_and_late;
    errno;
    forks;
    signals;
    cxx;
    old_versions;
}
