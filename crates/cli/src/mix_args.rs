//! How reads and writes are mixed, on the command lines of `bench rwlock` and `sim`.

use clap::Args;
use lockwright_workloads::rw_bench::{Mix, Percent};

use crate::failure::Failure;

/// How reads and writes are mixed; else each thread draws anew each time.
#[derive(Clone, Copy, Debug, Args)]
pub struct MixArgs {
    /// Threads either read or write
    #[arg(short, long, conflicts_with = "blocks")]
    pub dedicated: bool,

    /// Of each block of N sections of a thread (100 if not given) the first are reads, the rest writes
    #[arg(short, long, value_name = "N", num_args = 0..=1, require_equals = true,
          default_missing_value = "100", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub blocks: Option<u32>,
}

impl MixArgs {
    /// # Errors
    ///
    /// A block would hold a fraction of a read.
    pub fn check(self, readers: &[Percent]) -> Result<(), Failure> {
        let Some(sections) = self.blocks else { return Ok(()) };
        match readers.iter().find(|percent| !percent.divides(sections)) {
            Some(odd) => Err(Failure::Usage(format!(
                "{odd} % of a block of {sections} sections is no whole number: choose another --blocks=N"
            ))),
            None => Ok(()),
        }
    }

    pub fn mix(self) -> Mix {
        match self {
            MixArgs { dedicated: true, .. } => Mix::Dedicated,
            MixArgs { blocks: Some(sections), .. } => Mix::Blocks(sections),
            MixArgs { .. } => Mix::Drawn,
        }
    }
}
