//! Sleeping locks in the manner of the Linux kernel, generic over the platform.
//!
//! | module | algorithm |
//! |---|---|
//! | `osq` | cancellable MCS queue that admits one spinner at a time |
//! | [`mutex`] | owner-word mutex: the product |
//! | [`rwsem`] | reader-writer semaphore with every policy of the kernel's series |
//! | [`biased`] | the same biased towards readers, who then write no shared line |
//! | [`count_mutex`] | count-word mutex of 2013 with its three switches: the study object |
//! | [`condvar`] | condition variable that moves waiters to the mutex instead of waking a herd |
//! | [`once`] | runs something once; the others wait for it |
//! | [`seqcount`] | sequence counter: readers that store nothing |
//! | [`seqlock`] | a value in atomic words under a sequence counter |
//! | [`seqlatch`] | two copies, for readers that may interrupt the writer |
//! | [`plain`](mod@plain) | values that may be copied as words |
//! | [`spinlock`] | a lock of four bytes whose waiters spin while its holder runs |
//! | [`ownership`] | POSIX's kinds of mutex: who holds it, how often |
//! | `record` | what only a contended lock needs, outside the lock: wait queue, OSQ tail, slice |
//! | `share` | what a thread remembers of the locks that it used lately: guest or hog |
//! | [`events`] | lock events: counted in slow paths, on lines of the counting thread's own |
//!
//! No algorithm knows which [`Platform`](lockwright_platform::Platform) it runs on.

#![no_std]

pub mod biased;
pub mod condvar;
pub mod count_mutex;
pub mod events;
pub mod mutex;
pub mod once;
pub mod ownership;
pub mod plain;
pub mod rwsem;
pub mod seqcount;
pub mod seqlatch;
pub mod seqlock;
pub mod spinlock;

// Their functions trust their callers: private, but to the models.
#[cfg(not(loom))]
mod mcs;
#[cfg(loom)]
#[allow(missing_docs)]
pub mod mcs;
#[cfg(not(loom))]
mod osq;
#[cfg(loom)]
#[allow(missing_docs)]
pub mod osq;
#[cfg(not(loom))]
mod record;
#[cfg(loom)]
#[allow(missing_docs)]
pub mod record;
mod share;
