//! A program with one lock, for the tests of what it costs to have one.

fn main() {
    static LOCK: lockwright::Mutex<u32> = lockwright::Mutex::new(0);
    *LOCK.lock() += 1;
}
