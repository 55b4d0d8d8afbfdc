//! Which metrics each kind of cell has: what its tables show, by what arms are ordered and compared.

use crate::loads;
use crate::record::Kind;
use crate::record::metric::Metric;

/// The metrics of a kind of cell.
pub struct View {
    /// What arms are compared, ordered and related to each other by.
    pub headline: &'static Metric,
    /// What a table shows beside the headline, its spread and its ratio.
    pub columns: &'static [&'static Metric],
    /// What files have as well.
    pub more: &'static [&'static Metric],
    /// What a reader of the table should know.
    pub notes: &'static [&'static str],
}

impl View {
    /// All its metrics.
    pub fn metrics(&self) -> impl Iterator<Item = &'static Metric> {
        let rest = self.columns.iter().chain(self.more).copied();
        std::iter::once(self.headline).chain(rest)
    }
}

/// The metrics of a kind.
pub fn of(kind: Kind) -> &'static View {
    match kind {
        Kind::Uncontended => &loads::UNCONTENDED,
        Kind::Throughput => &loads::mutex::THROUGHPUT,
        Kind::Waits => &loads::mutex::WAITS,
        Kind::ReadWrite => &loads::rwlock::READ_WRITE,
        Kind::Reads => &loads::seq::READS,
        Kind::Faults => &loads::seq::FAULTS,
        Kind::Guest => &loads::patterns::GUEST,
        Kind::Turns => &loads::patterns::TURNS,
        Kind::Queue => &loads::patterns::QUEUE,
        Kind::Burst => &loads::patterns::BURST,
        Kind::Command => &loads::command::COMMAND,
        Kind::Operations => &loads::patterns::OPERATIONS,
    }
}
