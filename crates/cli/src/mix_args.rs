//! How reads and writes are mixed, on the command lines of `bench rwlock` and `sim`.

use clap::Args;
use lockwright_workloads::rw_bench::Mix;

/// How reads and writes are mixed; else each thread draws anew each time.
#[derive(Clone, Copy, Debug, Args)]
pub struct MixArgs {
    /// Threads either read or write
    #[arg(short, long, conflicts_with = "blocks")]
    pub dedicated: bool,

    /// Of each hundred sections of a thread the first so many are reads
    #[arg(short, long)]
    pub blocks: bool,
}

impl MixArgs {
    pub fn mix(self) -> Mix {
        match self {
            MixArgs { dedicated: true, .. } => Mix::Dedicated,
            MixArgs { blocks: true, .. } => Mix::Blocks,
            MixArgs { .. } => Mix::Drawn,
        }
    }
}
