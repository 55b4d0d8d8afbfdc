//! `lockwright bench --baseline FILE`: an older result beside this one.

use std::path::Path;

use lockwright_lab::analysis::compare::{Judged, Limits, between, judge, machines_differ};
use lockwright_lab::analysis::summary::{References, blocks};
use lockwright_lab::experiment::{Cell, Experiment};
use lockwright_lab::record::{self, Record, read};
use lockwright_lab::report::compare::{Shown, since};
use lockwright_lab::report::layout::Page;

use crate::failure::Failure;
use crate::session::header;

/// What this run is called beside the file.
const NOW: &str = "now";

/// An older result.
pub struct Older {
    name: String,
    record: Record,
}

impl Older {
    /// Reads it before anything is measured, so that no run is lost to a bad file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let record =
            read(path).map_err(|why| Failure::Usage(format!("--baseline: {name}: {why}")))?;
        Ok(Older { name, record })
    }

    /// Refuses what cannot be compared: another machine's result, or one of other things.
    pub fn check(&self, experiment: &Experiment) -> Result<(), Failure> {
        let here = experiment.record(header(experiment.name), Vec::new());
        let differences = machines_differ(&[(&self.name, &self.record), (NOW, &here)]);
        if !differences.is_empty() {
            return Err(Failure::Usage(format!(
                "--baseline: {} is of another machine ({}); 'lockwright compare --force' compares \
                 such files",
                self.name,
                differences.join("; ")
            )));
        }
        let shared = experiment.cells.iter().filter_map(|cell| self.place(&cell.record));
        let known = |at: usize| {
            let arms = experiment.arms.iter().filter_map(|arm| self.arm(&arm.record.name));
            arms.into_iter().any(|arm| !self.record.measured(arm, at).is_empty())
        };
        if !shared.into_iter().any(known) {
            let name = &self.name;
            let why = "has no lock and setting in common with what is to be measured";
            return Err(Failure::Usage(format!("--baseline: {name} {why}")));
        }
        Ok(())
    }

    /// The arms that ratios referred to then: two runs' ratios mean something beside each other
    /// only if they refer to the same.
    pub fn references(&self, experiment: &Experiment) -> References {
        let old = blocks(&self.record);
        let measured = |name: &str| experiment.arms.iter().any(|arm| arm.record.name == name);
        let of = |cell: &Cell| {
            let block = old.iter().find(|block| block.cell.is_like(&cell.record))?;
            let name = &block.reference?.name;
            measured(name).then(|| name.clone())
        };
        let all = experiment.cells.iter().enumerate();
        all.filter_map(|(at, cell)| Some((at, of(cell)?))).collect()
    }

    /// Every figure against the same in the file.
    pub fn judge<'a>(&'a self, record: &'a Record, seed: u64) -> Vec<Judged<'a>> {
        let pairs = between(&[(&self.name, &self.record)], (NOW, record));
        judge(pairs, None, Limits::default(), seed)
    }

    /// Adds to a report what differs.
    pub fn add(&self, page: &mut Page, judged: &[Judged], seed: u64) {
        since(page, judged, &self.name, Shown { all: false, limits: Limits::default(), seed });
    }

    fn place(&self, cell: &record::Cell) -> Option<usize> {
        self.record.cells.iter().position(|own| own.is_like(cell))
    }

    fn arm(&self, name: &str) -> Option<usize> {
        self.record.arms.iter().position(|arm| arm.name == name)
    }
}
