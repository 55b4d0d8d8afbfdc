//! Locks that break the contract, one defect each. The oracles must condemn every one of them
//! in every run: a harness that never fails proves nothing.
//!
//! | lock | defect | caught by |
//! |---|---|---|
//! | [`NoRelease`] | lock and unlock are relaxed | Miri, loom |
//! | [`NoExclusion`] | tests, then sets, in two steps | [`oracle::exclusion`](crate::oracle::exclusion) |
//! | [`LostWakeup`] | goes to sleep without a second look | [`oracle::progress`](crate::oracle::progress) |
//! | [`UnfairHandoff`] | the unlocker of a fair unlock retakes first | [`oracle::bounded_bypass_fair`](crate::oracle::bounded_bypass_fair) |
//! | [`HandoffNobodyMayTake`] | a hand-off flag bars its beneficiary as well | [`oracle::progress`](crate::oracle::progress) |
//! | [`SwallowedBaton`] | a waiter that times out keeps the wake-up it got | [`oracle::baton`](crate::oracle::baton) |
//! | [`SwallowedNotification`] | the same of a condition variable | the counts of [`contract::condvar_exact`](crate::contract::condvar_exact) |
//! | [`TouchAfterRelease`] | unlock reads its word after the release | SIGSEGV in the unmap contract |
//! | [`HeavyFence`] without the fence | the unlocking store passes the look for sleepers | loom, and [`oracle::progress`](crate::oracle::progress) under fault injection |
//!
//! Each defect is placed or widened such that it shows every time. A lock here is not a
//! pattern for anything, and one that is stuck leaves its thread behind.

mod handoff_nobody_may_take;
mod heavy_fence;
mod lost_wakeup;
mod no_exclusion;
mod no_release;
mod swallowed_baton;
mod swallowed_notification;
mod touch_after_release;
mod unfair_handoff;

pub use handoff_nobody_may_take::HandoffNobodyMayTake;
pub use heavy_fence::{
    HeavyFence, MissingHeavyFenceAtUnlock, MissingHeavyFenceAtWait, WithHeavyFenceAtUnlock,
    WithHeavyFenceAtWait,
};
pub use lost_wakeup::LostWakeup;
pub use no_exclusion::NoExclusion;
pub use no_release::NoRelease;
pub use swallowed_baton::SwallowedBaton;
pub use swallowed_notification::SwallowedNotification;
pub use touch_after_release::TouchAfterRelease;
pub use unfair_handoff::UnfairHandoff;
