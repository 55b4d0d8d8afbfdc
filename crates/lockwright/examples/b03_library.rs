//! A library with locks in it, for the test `b03_a_closed_library_stays_for_its_threads`.

use std::time::Duration;

use lockwright::Mutex;

static LOCK: Mutex<u32> = Mutex::new(0);

/// Waits for a lock once, so that the calling thread has something to be cleaned up at its end.
#[unsafe(no_mangle)]
pub extern "C" fn contend_once() {
    let held = LOCK.lock();
    let timed_out = LOCK.try_lock_for(Duration::from_millis(1)).is_none();
    drop(held);
    assert!(timed_out);
}
