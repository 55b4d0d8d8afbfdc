//! The harness measured with a protection that works and with none.

use std::sync::RwLock;
use std::time::Duration;

use lockwright_platform::Native;

use super::*;
use crate::harness::Interrupt;

struct Works(RwLock<Value>);

impl BenchSeq for Works {
    fn new(_readers: usize) -> Self {
        Works(RwLock::default())
    }

    fn read(&self, _reader: usize) -> (Value, u64) {
        (*self.0.read().unwrap(), 0)
    }

    fn write(&self, value: Value) {
        *self.0.write().unwrap() = value;
    }
}

fn round<S: BenchSeq>(readers: usize, write_every: WriteEvery, ms: u64) -> SeqReport {
    let spec = SeqSpec { readers, write_every, time: Duration::from_millis(ms) };
    SeqRunner::<S>::NEW.round(&spec, &Interrupt::new()).unwrap()
}

const OFTEN: WriteEvery = WriteEvery::Time(Duration::from_nanos(0));

#[test]
fn a_protection_that_works_is_read_and_written_and_never_torn() {
    fn check<S: BenchSeq>() {
        let report = round::<S>(2, OFTEN, 30);
        assert_eq!((report.torn, report.reads.len()), (0, 2));
        assert!(report.whole && report.writes.count() > 0 && !report.cut_short);
        assert_eq!(report.retries.is_some(), S::COUNTS_RETRIES);
        assert!(report.reads.iter().sum::<u64>() > 0);
    }
    check::<Works>();
    check::<SeqCountWords<Native>>();
}

#[test]
fn torn_values_are_noticed() {
    let torn = |ms| round::<PlainWords<Native>>(1, OFTEN, ms).torn > 0;
    assert!([30, 300, 3_000].into_iter().any(torn));
}

#[test]
fn without_a_writer_nothing_is_written_and_nothing_read_again() {
    let report = round::<SeqCountWords<Native>>(1, WriteEvery::Never, 10);
    assert_eq!((report.writes.count(), report.retries, report.torn), (0, Some(0), 0));
    let report = round::<BarrierWords<Native>>(2, WriteEvery::Never, 10);
    assert_eq!((report.writes.count(), report.torn), (0, 0));
}

#[test]
fn the_writer_of_barriers_gets_through() {
    let report = round::<BarrierWords<Native>>(2, WriteEvery::Time(Duration::from_micros(1)), 100);
    assert!(report.writes.count() > 0);
}

#[test]
fn a_round_ends_while_the_next_write_is_far() {
    let report = round::<Works>(1, WriteEvery::Time(Duration::from_secs(3_600)), 10);
    assert_eq!(report.writes.count(), 0);
}
