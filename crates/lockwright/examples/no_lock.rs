//! The program to compare `one_lock` with.

fn main() {}
