//! Stackful coroutines with a safe face: what the simulated machine runs its threads on.
//!
//! *Built on*: `corosensei`. A fiber suspends itself by a free function, from however deep inside
//! code that knows of no fibers. *Guarantees*: a fiber runs on the OS thread that resumes it; a
//! panic inside it goes on in the caller of [`Fiber::resume`]. *Does not*: unwind a fiber that is
//! dropped before its end; what is on its stack is leaked, with the stack. *Checked by*: the tests
//! below, and everything of `lockwright-sim`.

use std::cell::Cell;
use std::io;
use std::mem::ManuallyDrop;
use std::ptr;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

type Handle = *const Yielder<(), ()>;

std::thread_local! {
    /// The running fiber's own handle; null outside of fibers.
    static CURRENT: Cell<Handle> = const { Cell::new(ptr::null()) };
}

/// A coroutine; see the [module documentation](self).
pub struct Fiber {
    coroutine: ManuallyDrop<Coroutine<(), (), ()>>,
}

impl Fiber {
    /// A fiber that will run `body`, on a stack of at least `stack_bytes`.
    ///
    /// # Errors
    ///
    /// The system has no memory for the stack.
    pub fn new(stack_bytes: usize, body: impl FnOnce() + 'static) -> io::Result<Self> {
        let stack = DefaultStack::new(stack_bytes)?;
        let coroutine = Coroutine::with_stack(stack, |yielder: &Yielder<(), ()>, ()| {
            CURRENT.set(ptr::from_ref(yielder));
            body();
        });
        Ok(Fiber { coroutine: ManuallyDrop::new(coroutine) })
    }

    /// Lets the fiber run until it suspends itself or ends; true if it has ended.
    ///
    /// # Panics
    ///
    /// With the panic of the fiber; or if the fiber has ended before.
    pub fn resume(&mut self) -> bool {
        let caller = Caller(CURRENT.get());
        let result = self.coroutine.resume(());
        drop(caller);
        matches!(result, CoroutineResult::Return(()))
    }
}

/// Puts the caller's handle back, whether the fiber returned or panicked.
struct Caller(Handle);

impl Drop for Caller {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        if self.coroutine.done() {
            // SAFETY: the field is not used again. An unfinished coroutine is leaked: dropping it
            // would unwind its stack, and its destructors expect a running machine.
            unsafe { ManuallyDrop::drop(&mut self.coroutine) };
        }
    }
}

/// Suspends the running fiber: its [`Fiber::resume`] returns.
///
/// # Panics
///
/// If no fiber runs.
pub fn suspend() {
    let handle = CURRENT.get();
    assert!(!handle.is_null(), "suspend() outside of a fiber");
    // SAFETY: CURRENT is not null, so the code that runs was entered by a fiber's body, which set
    // it to its own yielder; that one lives until the body returns, on the stack we stand on.
    unsafe { (*handle).suspend(()) };
    CURRENT.set(handle);
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn fibers_take_turns() {
        let log = Rc::new(Cell::new(0u32));
        let mut fibers: Vec<_> = (1..=3)
            .map(|id| {
                let log = Rc::clone(&log);
                let body = move || {
                    for _ in 0..2 {
                        log.set(log.get() * 10 + id);
                        suspend();
                    }
                };
                Fiber::new(16 * 1024, body).unwrap()
            })
            .collect();
        for ended in [false, false, true] {
            assert!(fibers.iter_mut().all(|fiber| fiber.resume() == ended));
        }
        assert_eq!(log.get(), 123_123);
    }

    #[test]
    fn a_fiber_may_run_fibers() {
        let body = || {
            let mut inner = Fiber::new(16 * 1024, suspend).unwrap();
            assert!(!inner.resume());
            suspend();
            assert!(inner.resume());
        };
        let mut outer = Fiber::new(64 * 1024, body).unwrap();
        assert!(!outer.resume());
        assert!(outer.resume());
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let mut fiber = Fiber::new(64 * 1024, || panic!("inside")).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| fiber.resume())).is_err());
        assert!(catch_unwind(suspend).is_err(), "no fiber runs any more");
    }

    #[test]
    fn an_unfinished_fiber_is_dropped_in_silence() {
        let mut fiber = Fiber::new(16 * 1024, suspend).unwrap();
        assert!(!fiber.resume());
        drop(fiber);
    }
}
