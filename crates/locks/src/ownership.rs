//! What POSIX's kinds of mutex know beside the lock itself: who holds it, and how often.
//!
//! *Algorithm*: the holder's number in a word that only the holder changes, from after the
//! acquisition to before the release. So a thread finds its own number there if and only if it
//! holds the mutex, whatever else a racing reader may see. *Guarantees*: a recursive mutex is
//! released by its last release; an error-checking one refuses its holder a second acquisition;
//! both refuse a release by another thread. *Does not guarantee*: anything for the kinds `NORMAL`
//! and `ADAPTIVE`, whose holder is noted for tools only. *Fork*: the child's thread has another
//! number, so it may not release what its parent's thread held (as in the C library). *Cost*: 12
//! bytes; a load and a store for each acquisition, a store for each release. *Checked by*: the
//! tests below, the C conformance tests of the interposer and of the C API.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_platform::{Platform, Word, ZeroWord};

/// The kinds, with the numbers that the C library gives them.
pub mod kind {
    /// Locking it twice waits for ever.
    pub const NORMAL: u32 = 0;
    /// May be locked again by its holder.
    pub const RECURSIVE: u32 = 1;
    /// Refuses misuse.
    pub const ERROR_CHECK: u32 = 2;
    /// As `NORMAL`; the C library spins for it.
    pub const ADAPTIVE: u32 = 3;
    /// The bits of a kind.
    pub const MASK: u32 = 3;
}

/// What a call for the mutex comes to before the lock is tried.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The caller does not hold it, as far as its kind cares: the lock is to be acquired.
    Acquire,
    /// The caller holds it once more now.
    Again,
    /// The caller holds it and may not wait for itself.
    Deadlock,
    /// The caller holds it as often as can be counted.
    TooDeep,
}

/// What a release comes to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The caller holds it no more: the lock is to be released.
    Release,
    /// The caller holds it still.
    Holds,
    /// The caller does not hold it.
    NotHolder,
}

/// In the holder's word: it holds the mutex no more. Numbers of threads are below this.
const RELEASED: u32 = 1 << 31;

/// Who holds a mutex of which kind, how often.
#[repr(C)]
pub struct Ownership<P: Platform> {
    holder: P::Word<u32>,
    /// Acquisitions beyond the first.
    depth: P::Word<u32>,
    kind: P::Word<u32>,
}

impl<P: Platform> Ownership<P>
where
    P::Word<u32>: ZeroWord,
{
    /// Of a normal mutex that nobody holds.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const NORMAL: Self =
        Ownership { holder: ZeroWord::ZERO, depth: ZeroWord::ZERO, kind: ZeroWord::ZERO };
}

impl<P: Platform> Ownership<P> {
    /// Of a mutex of this kind that nobody holds.
    pub fn new(kind: u32) -> Self {
        Ownership { holder: Word::new(0), depth: Word::new(0), kind: Word::new(kind) }
    }

    /// The kind, with what other bits the word has.
    #[inline(always)]
    pub fn kind(&self) -> u32 {
        // Ordering: Relaxed, owner-only (written before the mutex is used)
        self.kind.load(Relaxed)
    }

    /// The holder's number, as it is or was a moment ago; 0 if nobody's.
    #[inline]
    pub fn holder(&self) -> u32 {
        match self.last_holder() {
            (holder, true) => holder,
            _ => 0,
        }
    }

    /// The number of the thread that held it last, as far as it is known, and whether it does
    /// still.
    #[inline]
    pub fn last_holder(&self) -> (u32, bool) {
        // Ordering: Relaxed, hint (exact for the caller's own number, see the module)
        let word = self.holder.load(Relaxed);
        (word & !RELEASED, word & RELEASED == 0)
    }

    /// Whether the thread of this number holds it; exact if it is the caller's.
    #[inline(always)]
    pub fn is_held_by(&self, me: u32) -> bool {
        // Ordering: Relaxed, hint (exact for the caller's own number, see the module)
        self.holder.load(Relaxed) == me
    }

    /// What a call of thread `me` for the mutex comes to.
    #[inline]
    pub fn enter(&self, me: u32) -> Entry {
        match self.kind() & kind::MASK {
            kind::RECURSIVE if self.is_held_by(me) => self.again(),
            kind::ERROR_CHECK if self.is_held_by(me) => Entry::Deadlock,
            _ => Entry::Acquire,
        }
    }

    #[cold]
    fn again(&self) -> Entry {
        // Ordering: Relaxed, owner-only (the caller holds the mutex) (block)
        match self.depth.load(Relaxed).checked_add(1) {
            // The first acquisition counts too, and u32::MAX of them are the C library's limit.
            None | Some(u32::MAX) => Entry::TooDeep,
            Some(depth) => {
                self.depth.store(depth, Relaxed);
                Entry::Again
            }
        }
    }

    /// The lock has been acquired by thread `me`.
    #[inline(always)]
    pub fn acquired(&self, me: u32) {
        // Ordering: Relaxed, owner-only (others compare it with their own numbers)
        self.holder.store(me, Relaxed);
    }

    /// What a release by thread `me` comes to. If the lock is to be released,
    /// [`released`](Self::released) or [`released_by`](Self::released_by) comes before that.
    #[inline]
    pub fn exit(&self, me: u32) -> Exit {
        match self.kind() & kind::MASK {
            kind::NORMAL | kind::ADAPTIVE => {}
            _ if !self.is_held_by(me) => return Exit::NotHolder,
            _ => {
                // Ordering: Relaxed, owner-only (the caller holds the mutex) (block)
                let depth = self.depth.load(Relaxed);
                if depth > 0 {
                    self.depth.store(depth - 1, Relaxed);
                    return Exit::Holds;
                }
            }
        }
        Exit::Release
    }

    /// The lock is about to be released.
    #[inline(always)]
    pub fn released(&self) {
        // Ordering: Relaxed, owner-only (others compare it with their own numbers)
        self.holder.store(0, Relaxed);
    }

    /// The lock is about to be released by thread `me`, which the next owner may want to know.
    #[inline(always)]
    pub fn released_by(&self, me: u32) {
        // Ordering: Relaxed, owner-only (others compare it with their own numbers)
        self.holder.store(me | RELEASED, Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use lockwright_platform::Native;

    use super::*;

    fn held(kind: u32) -> Ownership<Native> {
        let ownership = Ownership::new(kind);
        assert_eq!(ownership.enter(7), Entry::Acquire);
        ownership.acquired(7);
        ownership
    }

    #[test]
    fn a_recursive_mutex_is_released_by_its_last_release() {
        let mutex = held(kind::RECURSIVE);
        assert_eq!([mutex.enter(7), mutex.enter(7)], [Entry::Again; 2]);
        assert_eq!(mutex.enter(8), Entry::Acquire, "another has to wait");
        assert_eq!(mutex.exit(8), Exit::NotHolder);
        assert_eq!([mutex.exit(7), mutex.exit(7)], [Exit::Holds; 2]);
        assert_eq!(mutex.exit(7), Exit::Release);
        mutex.released_by(7);
        assert_eq!(mutex.exit(7), Exit::NotHolder);
        assert_eq!(
            (mutex.enter(7), mutex.holder(), mutex.last_holder()),
            (Entry::Acquire, 0, (7, false))
        );
    }

    #[test]
    fn a_recursive_mutex_is_not_held_more_often_than_can_be_counted() {
        let mutex = held(kind::RECURSIVE);
        mutex.depth.store(u32::MAX - 2, Relaxed);
        assert_eq!(mutex.enter(7), Entry::Again);
        assert_eq!(mutex.enter(7), Entry::TooDeep);
    }

    #[test]
    fn an_error_checking_mutex_refuses_its_holder_and_releases_by_others() {
        let mutex = held(kind::ERROR_CHECK);
        assert_eq!(mutex.enter(7), Entry::Deadlock);
        assert_eq!(mutex.exit(8), Exit::NotHolder);
        assert_eq!((mutex.holder(), mutex.exit(7)), (7, Exit::Release));
        mutex.released();
        assert_eq!((mutex.holder(), mutex.exit(7)), (0, Exit::NotHolder));
    }

    #[test]
    fn a_normal_mutex_may_be_released_by_another_thread() {
        for kind in [kind::NORMAL, kind::ADAPTIVE] {
            let mutex = held(kind);
            assert_eq!(mutex.enter(7), Entry::Acquire, "it would wait for itself");
            assert_eq!(mutex.exit(8), Exit::Release);
        }
    }
}
