//! The order of the rows within each table.

use crate::results::MutexBenchResult;

/// By what the rows are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The fastest first; waits by the longest, the shortest first.
    Speed,
    /// By the name of the lock.
    Name,
    /// As the locks were listed.
    Plan,
}

/// Orders the rows of every table.
pub fn sort(result: &mut MutexBenchResult, order: Order) {
    let uncontended = result.uncontended.iter_mut();
    match order {
        Order::Plan => {}
        Order::Name => {
            uncontended.for_each(|table| table.rows.sort_by(|a, b| a.lock.cmp(&b.lock)));
            for cell in &mut result.cells {
                cell.throughput.sort_by(|a, b| a.lock.cmp(&b.lock));
                cell.waits.sort_by(|a, b| a.lock.cmp(&b.lock));
            }
        }
        Order::Speed => {
            let known = |figure: Option<f64>| figure.unwrap_or(f64::INFINITY);
            uncontended.for_each(|table| {
                table.rows.sort_by(|a, b| known(a.ns_per_pair).total_cmp(&known(b.ns_per_pair)));
            });
            let rate = |figure: Option<f64>| figure.unwrap_or(0.0);
            for cell in &mut result.cells {
                cell.throughput.sort_by(|a, b| rate(b.kops_per_s).total_cmp(&rate(a.kops_per_s)));
                cell.waits.sort_by_key(|row| row.max_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn rows_follow_the_order() {
        let locks = |order| {
            let mut result = example::result();
            sort(&mut result, order);
            let rows = &result.cells[0].throughput;
            rows.iter().map(|row| row.lock.clone()).collect::<Vec<_>>()
        };
        assert_eq!(locks(Order::Plan), ["std", "parking_lot"]);
        assert_eq!(locks(Order::Name), ["parking_lot", "std"]);
        assert_eq!(locks(Order::Speed), ["parking_lot", "std"]);
    }
}
