//! Policies of the reader-writer semaphore: three records of switches, and the presets.
//!
//! A policy is a type whose associated constant is a record of [`Switches`]; natively what is
//! switched off is compiled away. The same record is the policy's runtime twin, and what the
//! tables of policies are printed from. The presets follow the kernel's series; where a stage had
//! a defect that was mended later (a request left standing by a cancelled waiter, a cancelled
//! first waiter that woke nobody) the preset has the mended form: P19 and P20 are always on (what P19
//! costs a woken writer is the switch `recheck_before_wait_lock`). So is P13, the guard against too many readers.
//! So the series' new layout before its hand-off is `v5.2` here, 5.16 and later are `v5.11` without
//! `recheck_before_wait_lock`, and 6.1 and later those with `enqueue_wakes`. Left out: that an unlock leaves wake-ups to a
//! spinner if the queue's guard is taken (P5, 4.2 to 5.2); that nobody spins who finds a sleeping reader in
//! the owner word (the series as posted; mended before 5.3 by commit 78134300579a).

pub use crate::mutex::NEVER;

/// Whether a reader keeps the lock that its fast path was refused only because others wait.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ReaderSteal {
    /// It queues (or spins).
    Never,
    /// It keeps the lock if nobody spins for it.
    IfNoSpinner,
    /// It keeps the lock.
    Always,
}

/// A switch's value, for tables.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// On or off.
    Flag(bool),
    /// Nanoseconds; [`NEVER`] is off.
    Nanoseconds(u64),
    /// A number; 0 is off or no limit, as the switch says.
    Number(u32),
    /// See [`ReaderSteal`].
    Steal(ReaderSteal),
}

impl core::fmt::Display for Value {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Value::Flag(on) => f.pad(if on { "on" } else { "-" }),
            Value::Nanoseconds(NEVER) => f.pad("-"),
            Value::Nanoseconds(ns) => write!(f, "{} us", ns / 1_000),
            Value::Number(0) => f.pad("-"),
            Value::Number(n) => write!(f, "{n}"),
            Value::Steal(ReaderSteal::Never) => f.pad("-"),
            Value::Steal(ReaderSteal::IfNoSpinner) => f.pad("if no spinner"),
            Value::Steal(ReaderSteal::Always) => f.pad("on"),
        }
    }
}

macro_rules! switches {
    ($($(#[doc = $group_doc:literal])+ $group:ident: $Group:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $off:expr, $id:literal, $value:path;)*
    })*) => {
        $(
            $(#[doc = $group_doc])+
            #[derive(Copy, Clone, Debug, PartialEq, Eq)]
            pub struct $Group {
                $($(#[doc = $doc])+ pub $field: $type,)*
            }
        )*

        /// Every switch of the reader-writer semaphore.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub struct Switches {
            $($(#[doc = $group_doc])+ pub $group: $Group,)*
        }

        impl Switches {
            /// Everything off: the strict FIFO of 3.7.
            pub const OFF: Self = Switches { $($group: $Group { $($field: $off,)* },)* };

            /// Number in the specification's list, name, meaning and value of each switch.
            pub fn list(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str, Value)> {
                [$($(($id, stringify!($field), concat!($($doc),+).trim_ascii_start(), $value(self.$group.$field)),)*)*]
                    .into_iter()
            }
        }
    };
}

switches! {
    /// Who may take the lock, and when.
    admission: Admission {
        /// A free lock goes to whoever takes it first; off: it is given to the first waiter, and nobody overtakes the queue.
        writers_steal: bool = false, "P3", Value::Flag;
        /// A first waiter that has waited this long forbids stealing.
        handoff_ns: u64 = NEVER, "P6", Value::Nanoseconds;
        /// A wake-up grants to every queued reader, past queued writers; off: to those in front only.
        wake_all: bool = false, "P7", Value::Flag;
        /// Most readers that one wake-up grants to; 0: no limit.
        wake_cap: u32 = 0, "P7", Value::Number;
        /// A thread that queues behind others wakes those in front unless a writer holds the lock; off, before 6.1: a reader does so only if the lock is free.
        enqueue_wakes: bool = false, "6.1", Value::Flag;
        /// While several readers hold the lock, readers that were refused neither spin nor steal.
        anti_starvation: bool = false, "P16", Value::Flag;
        /// A reader that was refused only because others wait keeps the lock.
        reader_steals: ReaderSteal = ReaderSteal::Never, "P17", Value::Steal;
        /// A wake-up makes the first writer the owner before it runs.
        early_transfer: bool = false, "early_transfer", Value::Flag;
    }
    /// How the kernel waits.
    waits: Waits {
        /// Writers spin in the OSQ while the owner runs.
        writers_spin: bool = false, "P4", Value::Flag;
        /// A spinner leaves when it sees that stealing is forbidden.
        handoff_stops: bool = false, "P6", Value::Flag;
        /// A woken writer that finds the lock held sleeps again, unless it may forbid stealing; off, from 5.16 on: it looks with the queue's guard in hand. Not together with `doze_ns`.
        recheck_before_wait_lock: bool = true, "P19", Value::Flag;
        /// Readers give their count back and spin in the OSQ.
        readers_spin: bool = false, "P8", Value::Flag;
        /// Spinners stay while readers hold the lock; writers for 10 us and half a microsecond for each reader, at most 25 us.
        reader_owned_spin: bool = false, "P9", Value::Flag;
        /// Readers and writers are forbidden to spin separately.
        split_bits: bool = false, "P10", Value::Flag;
        /// What forbids readers to spin outlives a writer that saw it.
        sticky_reader_bit: bool = false, "P11", Value::Flag;
        /// A reader tries once more after a spin in vain if other readers have come to hold the lock.
        phase_retry: bool = false, "P12", Value::Flag;
        /// Looks at a held lock without an owner before a spinner leaves; 0: as many as time allows. The kernel's rule for real-time tasks, so no preset has it.
        null_owner_tries: u32 = 0, "P14", Value::Number;
        /// A writer that forbade stealing spins on the owner before it sleeps.
        handoff_spins: bool = false, "P15", Value::Flag;
        /// At most one reader spins at a time.
        one_reader_spins: bool = false, "limit_rspin", Value::Flag;
    }
    /// How user space waits.
    user: UserWaits {
        /// A spin ends when the scheduler wants the CPU; where the platform cannot tell, as in user space, after `spin_ns`.
        until_resched: bool = true, "-", Value::Flag;
        /// Longest spin. User space only: an owner's CPU is an estimate, so no wait goes by it alone.
        spin_ns: u64 = 50_000, "-", Value::Nanoseconds;
        /// Polls of a refused call before any bookkeeping. User space only.
        eager_polls: u32 = 0, "-", Value::Number;
        /// A first writer that was woken in vain sleeps so long, then twice so long and so on, without asking unlocks to wake it, until it may forbid stealing. User space only.
        doze_ns: u64 = NEVER, "-", Value::Nanoseconds;
        /// A first writer that waits for readers alone forbids stealing at once: they leave together, and come back together. User space only.
        handoff_from_readers: bool = false, "-", Value::Flag;
        /// How many sections of running writers a first writer that has just queued awaits before it sleeps. User space only.
        first_waiter_spins: u32 = 0, "-", Value::Number;
        /// A spinner that finds readers in the owner word, which may be of the past, tries before it leaves. User space only.
        last_try: bool = false, "-", Value::Flag;
        /// A reader leaves the owner word alone that says already what it would write. User space only: the kernel's readers always write it.
        owner_write_on_change: bool = false, "-", Value::Flag;
        /// A reader counts itself in, then looks whether it may; off: it looks, and counts itself in where it may, so that no count of a thread that is gone stays in a forked child. User space only.
        counts_first: bool = true, "-", Value::Flag;
        /// A thread that has not waited for the lock for so long is a guest: it does not yield, stands before all that may not forbid stealing yet, and may forbid it at once. User space only.
        guest_ns: u64 = NEVER, "-", Value::Nanoseconds;
        /// How often a thread yields the CPU, trying in between, before it queues. User space only.
        yields: u32 = 0, "-", Value::Number;
    }
}

/// How a reader-writer semaphore waits.
pub trait Policy: 'static {
    /// The policy's name, as the command line knows it.
    const NAME: &'static str;
    /// What the preset stands for.
    const STAGE: &'static str;
    /// Its switches.
    const SWITCHES: Switches;
    /// Readers join readers, whoever waits, so that a thread may read twice; writers may starve.
    const RECURSIVE_READS: bool = false;
}

/// The product's default with recursive reads.
#[derive(Copy, Clone, Debug)]
pub struct Recursive;

impl Policy for Recursive {
    const NAME: &'static str = "recursive";
    const STAGE: &'static str = "the product: the default with readers that never wait behind a waiting writer while others read";
    const SWITCHES: Switches = Standard::SWITCHES;
    const RECURSIVE_READS: bool = true;
}

/// A preset as a value.
#[derive(Copy, Clone, Debug)]
pub struct Preset {
    /// See [`Policy::NAME`].
    pub name: &'static str,
    /// See [`Policy::STAGE`].
    pub stage: &'static str,
    /// See [`Policy::SWITCHES`].
    pub switches: Switches,
}

macro_rules! presets {
    ($($type:ident = $name:literal, $stage:literal: $base:ident { $($group:ident: $Group:ident { $($field:ident: $value:expr),* })* };)*) => {
        $(
            #[doc = concat!("`", $name, "`: ", $stage, ".")]
            #[derive(Copy, Clone, Debug)]
            pub struct $type;

            impl Policy for $type {
                const NAME: &'static str = $name;
                const STAGE: &'static str = $stage;
                #[allow(clippy::needless_update, reason = "a stage may change every group, or all of one")]
                const SWITCHES: Switches =
                    Switches {
                        $($group: $Group { $($field: $value,)* ..<$base as Base>::BASE.$group },)*
                        ..<$base as Base>::BASE
                    };
            }

            impl Base for $type {
                const BASE: Switches = <$type as Policy>::SWITCHES;
            }
        )*

        /// All presets, in the order of the series; the product's own come last.
        pub const PRESETS: &[Preset] = &[$(Preset {
            name: <$type as Policy>::NAME,
            stage: <$type as Policy>::STAGE,
            switches: <$type as Policy>::SWITCHES,
        }),*];
    };
}

/// What a preset may build on.
trait Base {
    const BASE: Switches;
}

/// Everything off.
struct Off;

impl Base for Off {
    const BASE: Switches = Switches::OFF;
}

presets! {
    Fifo = "fifo", "3.7: strict FIFO, ownership given at wake-up": Off {};
    Steal = "steal", "3.9: a running writer may overtake the queue":
        Fifo { admission: Admission { writers_steal: true } };
    V5_2 = "v5.2", "3.16 to 5.2: writers spin": Steal { waits: Waits { writers_spin: true } };
    Handoff = "handoff", "5.3 series: and a hand-off after 4 ms":
        V5_2 {
            admission: Admission { handoff_ns: 4_000_000 }
            waits: Waits { handoff_stops: true }
        };
    WakeAll = "wake-all", "5.3 series: and all queued readers woken together":
        Handoff { admission: Admission { wake_all: true, wake_cap: 256 } };
    ReaderSpin = "reader-spin", "5.3 series: and readers spin on a writer":
        WakeAll { waits: Waits { readers_spin: true } };
    TimedSpin = "timed-spin", "5.3 series: and a time limit for spinning on readers":
        ReaderSpin { waits: Waits { reader_owned_spin: true, split_bits: true } };
    V5_3 = "v5.3", "5.3: and reader spinning disabled where it does not pay":
        TimedSpin { waits: Waits { sticky_reader_bit: true, phase_retry: true } };
    V5_4 = "v5.4", "5.4 to 5.10: and a writer that forbade stealing spins":
        V5_3 { waits: Waits { handoff_spins: true, handoff_stops: false } };
    AntiStarvation = "anti-starvation", "5.11 series: and readers queue behind several readers":
        V5_4 { admission: Admission { anti_starvation: true } };
    ReaderSteals = "reader-steal", "5.11 series: and readers steal if nobody spins":
        AntiStarvation { admission: Admission { reader_steals: ReaderSteal::IfNoSpinner } };
    LimitRspin = "limit-rspin", "posted for 5.11: at most one reader spins":
        ReaderSteals { waits: Waits { one_reader_spins: true } };
    V5_11 = "v5.11", "5.11 to 5.15: readers steal and do not spin":
        ReaderSteals {
            admission: Admission { reader_steals: ReaderSteal::Always }
            waits: Waits {
                readers_spin: false,
                split_bits: false,
                sticky_reader_bit: false,
                phase_retry: false
            }
        };
    EarlyTransfer = "early-transfer", "posted in 2023: 5.11 with ownership given at wake-up":
        V5_11 {
            admission: Admission { early_transfer: true }
            waits: Waits { recheck_before_wait_lock: false }
        };
    Standard = "default", "the product: 5.11 with user-space waits":
        V5_11 {
            admission: Admission { anti_starvation: false, handoff_ns: 1_000_000, enqueue_wakes: true }
            waits: Waits { reader_owned_spin: false, recheck_before_wait_lock: false }
            user: UserWaits {
                eager_polls: 8,
                yields: 4,
                guest_ns: 100_000,
                until_resched: false,
                spin_ns: 20_000,
                doze_ns: 50_000,
                handoff_from_readers: true,
                first_waiter_spins: 1,
                last_try: true,
                owner_write_on_change: true,
                counts_first: false
            }
        };
}
