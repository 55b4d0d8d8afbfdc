#![cfg(not(any(loom, miri)))]
use core::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;

use super::*;

/// A second thread that needs a heavy fence while the kernel begins to refuse them waits, too, until light
/// sides that left it to the heavy one are out.
#[test]
fn b06_nobody_passes_while_light_sides_may_be_under_way() {
    let drains = std::sync::Arc::new(std::sync::RwLock::new(()));
    let not_yet = drains.write().unwrap();
    let reached = membarrier::script::refuse(drains.clone());
    std::thread::scope(|s| {
        let first = s.spawn(Native::fence_heavy);
        reached.recv().unwrap();
        let second = s.spawn(Native::fence_heavy);
        reached.recv().unwrap();
        assert!(!first.is_finished() && !second.is_finished(), "one did not wait");
        drop(not_yet);
        first.join().unwrap();
        second.join().unwrap();
    });
    membarrier::script::refuse_no_more();
    assert!(!barrier_in_use());
}

/// A queue that the thread was in has nobody in the child who could give its node back.
#[test]
fn a_forked_child_has_its_own_nodes_back() {
    let me = Native::enter().unwrap();
    // SAFETY: no lock is waited for here (1).
    let lent = &unsafe { me.record().words() }[0];
    lent.store(1, Relaxed);
    drop(me);
    // SAFETY: the child uses no lock, and ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: ends the child.
        unsafe { libc::_exit(lent.load(Relaxed) as i32) };
    }
    lent.store(0, Relaxed);
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status}");
}

/// A forked child writes the records of threads that lived, and no others.
#[test]
fn u04_a_child_writes_records_in_use_only() {
    const MARK: u32 = 7;
    let mark = |slot: Slot| &Native::thread_record(slot).words[1];
    let (tx, rx) = mpsc::channel();
    let (done, until_done) = mpsc::channel::<()>();
    let lives = std::thread::spawn(move || {
        let me = Native::enter().unwrap();
        tx.send(me.slot()).unwrap();
        let _ = until_done.recv();
    });
    let lives_in = rx.recv().unwrap();
    // Far from those that other tests use.
    let hoard: std::vec::Vec<_> =
        (0..200).map(|_| Native::threads().claim().expect("room for a test")).collect();
    hoard.iter().for_each(|&slot| mark(slot).store(MARK, Relaxed));
    mark(lives_in).store(MARK, Relaxed);
    hoard.iter().skip(100).for_each(|&slot| Native::threads().release(slot));
    // SAFETY: the child looks at words of the table and ends, without a lock or an allocation.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let kept = hoard.iter().filter(|&&slot| mark(slot).load(Relaxed) == MARK).count();
        let forgotten = mark(lives_in).load(Relaxed) == 0;
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(kept != 100 || !forgotten)) };
    }
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    hoard.iter().take(100).for_each(|&slot| Native::threads().release(slot));
    drop(done);
    lives.join().unwrap();
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status}");
}
