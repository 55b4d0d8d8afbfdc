//! `bench mutex`: sections of one mutex, and the waits before them.

use std::time::Duration;

use lockwright_workloads::mutex_bench::Rhythm;

use super::{Load, Pair, cell, window};
use crate::experiment::Cell;
use crate::experiment::view::View;
use crate::record::metric::{self, Metric};
use crate::record::{Kind, params};
use crate::report::layout::counted;
use crate::report::number::duration_ns;

/// Sections in a second.
pub static THROUGHPUT: View = View {
    headline: &metric::RATE,
    columns: &[
        &metric::JAIN,
        &metric::LEAST,
        &metric::CPU,
        &metric::VOLUNTARY,
        &metric::INVOLUNTARY,
    ],
    more: &[&metric::THREAD_MIN, &metric::THREAD_MEAN, &metric::THREAD_MAX, &metric::CPUS_USED],
    notes: &[
        "kops/s: thousand sections a second. Jain: 1 = all threads did the same. least: sections of \
         the thread that did least, 1 = as many as the mean.",
        "CPU-us: CPU microseconds a section. vol/Mop, inv/Mop: times a thread gave up, or lost, the \
         CPU in a million sections.",
    ],
};

/// Columns of waits, short ones included.
pub(super) const WAIT_COLUMNS: [&Metric; 6] = [
    &metric::WAITS,
    &metric::WAIT_MEAN,
    &metric::WAIT_P50,
    &metric::WAIT_P99,
    &metric::WAIT_P999,
    &metric::WAIT_BY_TIME,
];

/// Waits before sections.
pub static WAITS: View = View {
    headline: &metric::WAIT_MAX,
    columns: &WAIT_COLUMNS,
    more: &[&metric::WAIT_P90],
    notes: &[
        "Waits include two clock readings; they are measured in rounds of their own. by time: of \
         the time that threads waited, half was spent in waits no longer.",
    ],
};

/// What a thread does between two bursts of sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// So many PAUSE units after each section.
    Steady {
        /// Units outside.
        outside: u32,
    },
    /// Sections back to back, then a gap.
    Burst {
        /// Sections in a burst, at least 1.
        ops: u32,
        /// Length of the gap in nanoseconds, spent busy.
        gap_ns: u64,
    },
}

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Number of threads, at least 1.
    pub threads: usize,
    /// PAUSE units inside the section.
    pub load: u32,
    /// What happens outside.
    pub pace: Pace,
}

/// What else a run of the benchmark is.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Wall time of each run; `None`: long enough for the threads of its cell.
    pub window: Option<Duration>,
    /// Whether pairs of one thread are measured.
    pub uncontended: bool,
    /// Whether waits are measured, in runs of their own.
    pub waits: bool,
    /// Length of a PAUSE unit in nanoseconds.
    pub pause_ns: f64,
}

/// The cells of these settings.
pub fn cells(settings: &[Setting], options: Options) -> Vec<Cell> {
    let mut cells = Vec::new();
    cells.extend(options.uncontended.then(|| Pair::Lock.cell()));
    cells.extend(settings.iter().map(|setting| setting.cell(options, false)));
    if options.waits {
        cells.extend(settings.iter().map(|setting| setting.cell(options, true)));
    }
    cells
}

impl Setting {
    fn rhythm(&self, pause_ns: f64) -> Rhythm {
        match self.pace {
            Pace::Steady { outside } => Rhythm::steady(self.load, outside),
            Pace::Burst { ops, gap_ns } => Rhythm {
                load: self.load,
                burst: ops,
                // A float-to-integer cast saturates, which is what a huge gap wants.
                outside: (gap_ns as f64 / pause_ns).round() as u32,
            },
        }
    }

    fn cell(&self, options: Options, waits: bool) -> Cell {
        let Setting { threads, load, pace } = *self;
        let rhythm = self.rhythm(options.pause_ns);
        let (kind, load_of, prefix) = if waits {
            (Kind::Waits, Load::MutexWaits { threads, rhythm }, "waits: ")
        } else {
            (Kind::Throughput, Load::Mutex { threads, rhythm }, "")
        };
        let title = format!("{prefix}{}", self.title(options.pause_ns));
        let mut settings = params([("threads", threads.into()), ("load_pauses", load.into())]);
        match pace {
            Pace::Steady { outside } => {
                settings.insert("outside_pauses".to_owned(), outside.into())
            }
            Pace::Burst { ops, gap_ns } => {
                settings.insert("burst_ops".to_owned(), ops.into());
                settings.insert("gap_ns".to_owned(), gap_ns.into())
            }
        };
        cell(kind, title, settings, options.window.unwrap_or_else(|| window(threads)), load_of)
    }

    fn title(&self, pause_ns: f64) -> String {
        let ns = |pauses: u32| duration_ns(f64::from(pauses) * pause_ns);
        let outside = match self.pace {
            Pace::Steady { outside: 0 } => "saturated: nothing outside".to_owned(),
            Pace::Steady { outside } => format!("outside {outside} ({})", ns(outside)),
            Pace::Burst { ops, gap_ns } => {
                format!("bursts of {ops}, then {}", duration_ns(gap_ns as f64))
            }
        };
        format!(
            "{}, load {} ({}), {outside}",
            counted(self.threads, "thread"),
            self.load,
            ns(self.load)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_turned_into_pauses() {
        let pace = Pace::Burst { ops: 64, gap_ns: 10_000 };
        let rhythm = Setting { threads: 2, load: 3, pace }.rhythm(10.0);
        assert_eq!(rhythm, Rhythm { load: 3, burst: 64, outside: 1_000 });
    }

    #[test]
    fn many_threads_get_windows_in_which_each_has_turns() {
        let options = Options { window: None, uncontended: true, waits: true, pause_ns: 10.0 };
        let pace = Pace::Steady { outside: 0 };
        let setting = |threads| Setting { threads, load: 20, pace };
        let cells = cells(&[setting(2), setting(32)], options);
        let seen: Vec<_> = cells.iter().map(|c| (c.record.kind, c.record.window_s)).collect();
        let (throughput, waits) = (Kind::Throughput, Kind::Waits);
        assert_eq!(
            seen[1..],
            [(throughput, 0.06), (throughput, 0.256), (waits, 0.06), (waits, 0.256)]
        );
    }
}
