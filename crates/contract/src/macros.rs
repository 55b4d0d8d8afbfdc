//! The macros that turn contract bodies into `#[test]` functions.

/// One `#[test]` per body: `$name` calls `contract::$section::$name::<Raw...>()`.
#[doc(hidden)]
#[macro_export]
macro_rules! __contract_tests {
    ($section:ident, $types:tt: $($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                $crate::__contract_call!($section, $name, $types);
            }
        )+
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __contract_call {
    ($section:ident, $name:ident, [$($arg:ty),+]) => {
        $crate::contract::$section::$name::<$($arg),+>()
    };
}

/// The contract of a mutex: `mutex_contract!(module_name, RawType)`, with the sections `timed`
/// and `fair` where the type has them: `mutex_contract!(module_name, RawType, timed, fair)`, and
/// `always_fair` if each of its unlocks is.
#[macro_export]
macro_rules! mutex_contract {
    ($name:ident, $raw:ty $(, $section:ident)* $(,)?) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            type Raw = $raw;
            $crate::__mutex_section!(always, Raw);
            $($crate::__mutex_section!($section, Raw);)*
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __mutex_section {
    (always, $raw:ty) => {
        $crate::__contract_tests!(mutex, [$raw]:
            exclusion_keeps_two_counters_equal
            more_threads_than_cpus_keep_exclusion
            a_holder_that_loses_its_cpu_keeps_exclusion
            try_lock_fails_while_held_and_succeeds_when_free
            try_lock_and_lock_mixed_keep_exclusion
            different_locks_nest_in_any_release_order
            a_guard_dropped_during_unwind_unlocks
            a_panicking_holder_leaves_the_lock_usable
            a_lock_moved_while_free_works
            a_lock_dropped_while_held_is_harmless
            an_arc_guard_outlives_its_scope
            a_looping_owner_does_not_starve_a_waiter
            a_waiter_is_served_after_the_only_release
        );
        $crate::__contract_tests!(threads, [$raw]:
            many_locks_are_each_contended_once
            many_locks_are_contended_at_once
            thousands_of_threads_in_turn_contend_once_each
            a_waiter_outlives_other_threads_exits
            a_lock_held_by_a_thread_that_exited_stays_held
            a_thread_local_destructor_may_lock
            a_thread_local_destructor_may_lock_after_the_locks_own
        );
    };
    (timed, $raw:ty) => {
        $crate::__contract_tests!(timed, [$raw]:
            a_timed_out_waiter_leaves_the_lock_usable
            a_failed_timed_lock_waits_its_full_time
            a_waiter_behind_a_timed_out_one_is_served
            waiters_around_a_timed_out_one_are_served
            the_lock_is_free_after_every_waiter_timed_out
            a_zero_timeout_is_a_try_lock
            a_deadline_in_the_past_is_a_try_lock
            an_endless_timeout_waits_for_the_lock
            a_timed_waiter_gets_the_lock_in_time
            a_timeout_racing_with_an_unlock_passes_the_baton
            a_storm_of_cancellations_conserves_acquisitions
            a_lock_held_by_a_thread_that_exited_times_out
        );
    };
    (fair, $raw:ty) => {
        $crate::__contract_tests!(fair, [$raw]:
            a_fair_unlock_without_waiters_frees_the_lock
            a_fair_unlock_serves_a_waiter_although_the_unlocker_loops
            a_bump_serves_a_waiter_although_the_owner_loops
            fair_and_plain_unlocks_mixed_keep_exclusion
        );
    };
    (always_fair, $raw:ty) => {
        $crate::__contract_tests!(fair, [$raw]:
            a_plain_unlock_serves_a_waiter_although_the_unlocker_loops
        );
    };
}

/// The contract of a reader-writer lock: `rwlock_contract!(module_name, RawType)`. Its writers'
/// side is a mutex: `mutex_contract!(module_name, WriteSide<RawType>, timed, fair)`. A lock whose
/// readers join readers whoever waits does not serve writers among them:
/// `rwlock_contract!(module_name, RawType, readers_first)`.
#[macro_export]
macro_rules! rwlock_contract {
    ($name:ident, $raw:ty) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            type Raw = $raw;
            $crate::__rwlock_section!(always, Raw);
            $crate::__rwlock_section!(writers_served, Raw);
        }
    };
    ($name:ident, $raw:ty, readers_first) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            type Raw = $raw;
            $crate::__rwlock_section!(always, Raw);
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __rwlock_section {
    (always, $raw:ty) => {
        $crate::__contract_tests!(rwlock, [$raw]:
            readers_hold_the_lock_together
            readers_never_see_half_of_a_write
            all_operations_mixed_keep_exclusion
            more_threads_than_cpus_keep_exclusion
            try_tells_who_bars_whom
            who_gives_up_leaves_the_way_free
            all_waiters_are_served_after_one_release
        );
    };
    (writers_served, $raw:ty) => {
        $crate::__contract_tests!(rwlock, [$raw]:
            a_fair_unlock_serves_a_waiting_writer_although_readers_loop
            a_writer_behind_a_reader_is_served_among_readers
            a_writer_behind_a_writer_is_served_among_readers
        );
    };
}

/// The contract of a condition variable with timeouts:
/// `condvar_contract!(module_name, RawCondvarType)`. A type that promises no spurious wake-ups,
/// so counts what it woke, adds `exact`: `condvar_contract!(module_name, RawCondvarType, exact)`.
#[macro_export]
macro_rules! condvar_contract {
    ($name:ident, $raw:ty $(, $section:ident)* $(,)?) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            type Raw = $raw;
            type Lock = <$raw as $crate::lock_api::RawCondvar>::RawMutex;
            $crate::__condvar_section!(always, Raw, Lock);
            $($crate::__condvar_section!($section, Raw, Lock);)*
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __condvar_section {
    (always, $raw:ty, $lock:ty) => {
        $crate::__contract_tests!(condvar, [$raw, $lock]:
            every_notified_waiter_wakes
            notify_all_with_64_waiters_completes
            waiting_releases_the_mutex
            the_mutex_is_held_on_return_from_wait
            the_mutex_is_held_on_return_from_a_timeout
            a_timed_out_wait_takes_its_full_time
            a_deadline_in_the_past_times_out
            wait_while_returns_when_the_condition_ends
            wait_while_for_times_out_while_the_condition_holds
            producers_and_consumers_conserve_items
            a_condvar_without_waiters_may_change_its_mutex
        );
    };
    (exact, $raw:ty, $lock:ty) => {
        $crate::__contract_tests!(condvar_exact, [$raw, $lock]:
            notify_one_wakes_exactly_one
            notify_all_wakes_all_and_counts_them
            a_notification_before_the_wait_is_not_remembered
            timeouts_racing_with_notify_one_conserve_the_count
            timeouts_racing_with_notify_all_conserve_the_count
        );
    };
}

/// The contract of a lock that may be unmapped by its next owner:
/// `unmap_contract!(module_name, RawType)`. A violation kills the process with SIGSEGV.
///
/// A type that claims this only for a lock unlocked before its memory goes (the C rule) asks
/// for `unmap_contract!(module_name, RawType, released)`.
#[macro_export]
macro_rules! unmap_contract {
    ($name:ident, $raw:ty, released) => {
        #[cfg(not(miri))]
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            type Raw = $raw;
            $crate::__contract_tests!(unmap, [Raw]:
                a_blocked_next_owner_may_release_and_unmap
                a_spinning_next_owner_may_release_and_unmap
                the_last_of_three_owners_may_release_and_unmap
            );
        }
    };
    ($name:ident, $raw:ty) => {
        #[cfg(not(miri))]
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            type Raw = $raw;
            $crate::__contract_tests!(unmap, [Raw]:
                a_blocked_next_owner_may_release_and_unmap
                a_spinning_next_owner_may_release_and_unmap
                the_last_of_three_owners_may_release_and_unmap
                a_blocked_next_owner_may_unmap_while_holding
                a_spinning_next_owner_may_unmap_while_holding
            );
        }
    };
}

/// The contract of a lock across `fork`, which the portable platform does not keep: `fork_contract!(module_name, RawType)`. Without the
/// claim that the forking thread may release in the child what it held in the parent:
/// `fork_contract!(module_name, RawType, others_only)`.
#[macro_export]
macro_rules! fork_contract {
    ($name:ident, $raw:ty, others_only) => {
        #[cfg(not(any(miri, lockwright_portable)))]
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            type Raw = $raw;
            $crate::__contract_tests!(fork, [Raw]:
                a_child_locks_what_was_free_while_others_hold_and_wait
                a_child_locks_what_was_free_amid_a_storm
                a_lock_that_another_thread_held_stays_held_in_the_child
            );
        }
    };
    ($name:ident, $raw:ty) => {
        #[cfg(not(any(miri, lockwright_portable)))]
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            type Raw = $raw;
            $crate::__contract_tests!(fork, [Raw]:
                a_child_locks_what_was_free_while_others_hold_and_wait
                a_child_locks_what_was_free_amid_a_storm
                a_lock_that_another_thread_held_stays_held_in_the_child
                a_forking_owner_may_unlock_in_the_child
            );
        }
    };
}

/// The contract of a lock used in signal handlers, which the portable platform does not keep: `signal_contract!(module_name, RawType)`.
#[macro_export]
macro_rules! signal_contract {
    ($name:ident, $raw:ty) => {
        #[cfg(not(any(miri, lockwright_portable)))]
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            type Raw = $raw;
            $crate::__contract_tests!(signal, [Raw]:
                a_handler_may_lock_while_its_thread_waits
                a_handler_may_lock_at_any_instruction_of_a_lock_call
            );
        }
    };
}

/// 70,000 threads over the life of a process, each contending once:
/// `process_life_contract!(module_name, RawType)`. Takes seconds, so it is a macro of its own.
#[macro_export]
macro_rules! process_life_contract {
    ($name:ident, $raw:ty) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            type Raw = $raw;
            $crate::__contract_tests!(threads, [Raw]: seventy_thousand_threads_contend_once_each);
        }
    };
}
