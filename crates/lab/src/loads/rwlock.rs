//! `bench rwlock`: read and write sections of one lock.

use std::time::Duration;

use lockwright_workloads::rw_bench::{Mix, Percent, RwSpec};

use super::{Load, Pair, cell, window};
use crate::experiment::Cell;
use crate::experiment::view::View;
use crate::record::{Kind, metric, params};
use crate::report::layout::counted;
use crate::report::number::duration_ns;

/// Read and write sections in a second.
pub static READ_WRITE: View = View {
    headline: &metric::RATE,
    columns: &[&metric::JAIN, &metric::READERS, &metric::WRITERS, &metric::CPU, &metric::VOLUNTARY],
    more: &[
        &metric::INVOLUNTARY,
        &metric::READERS_MIN,
        &metric::READERS_MAX,
        &metric::WRITERS_MIN,
        &metric::WRITERS_MAX,
        &metric::CPUS_USED,
    ],
    notes: &[
        "kops/s: thousand sections a second. Jain: 1 = all threads did the same. reads/thr, \
         writes/thr: thousand reads (writes) of the mean thread that reads (writes) a second.",
        "CPU-us: CPU microseconds a section. vol/Mop: times a thread gave up the CPU in a million \
         sections.",
    ],
};

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Number of threads, at least 1.
    pub threads: usize,
    /// Percentage of reads, or of threads that read.
    pub readers: Percent,
    /// How they are mixed.
    pub mix: Mix,
    /// PAUSE units inside the section.
    pub load: u32,
    /// PAUSE units outside.
    pub outside: u32,
}

/// The cells of these settings; where `time` is `None`, runs are long enough for their threads.
pub fn cells(
    settings: &[Setting],
    time: Option<Duration>,
    uncontended: bool,
    pause_ns: f64,
) -> Vec<Cell> {
    let pairs = [Pair::Read, Pair::Write].into_iter().filter(|_| uncontended);
    let settings = settings.iter().map(|setting| setting.cell(time, pause_ns));
    pairs.map(Pair::cell).chain(settings).collect()
}

impl Setting {
    /// The round that measures this setting.
    pub fn spec(&self, time: Duration) -> RwSpec {
        let Setting { threads, readers, mix, load, outside } = *self;
        RwSpec { threads, readers, mix, load, outside, time }
    }

    fn cell(&self, time: Option<Duration>, pause_ns: f64) -> Cell {
        let mut settings = params([
            ("threads", self.threads.into()),
            ("readers_percent", self.readers.as_f64().into()),
            ("load_pauses", self.load.into()),
            ("outside_pauses", self.outside.into()),
        ]);
        let who = match self.mix {
            Mix::Dedicated => {
                settings.insert("mix".to_owned(), "dedicated".into());
                "threads read".to_owned()
            }
            Mix::Blocks(sections) => {
                settings.insert("mix".to_owned(), "blocks".into());
                settings.insert("block_sections".to_owned(), sections.into());
                format!("reads in blocks of {sections}")
            }
            Mix::Drawn => {
                settings.insert("mix".to_owned(), "drawn".into());
                "reads".to_owned()
            }
        };
        let title = format!(
            "{}, {} % {who}, load {} ({}), outside {}",
            counted(self.threads, "thread"),
            self.readers,
            self.load,
            duration_ns(f64::from(self.load) * pause_ns),
            self.outside
        );
        let time = time.unwrap_or_else(|| window(self.threads));
        cell(Kind::ReadWrite, title, settings, time, Load::ReadWrite(*self))
    }
}
