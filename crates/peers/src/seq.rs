//! Peers for a value that is read much more often than written.

use std::sync::{Arc, RwLock};

use lockwright_workloads::seq_bench::{BenchSeq, Value};

/// `std::sync::RwLock`.
pub struct StdRwLock(RwLock<Value>);

impl BenchSeq for StdRwLock {
    fn new(_readers: usize) -> Self {
        StdRwLock(RwLock::default())
    }

    #[inline]
    fn read(&self, _reader: usize) -> (Value, u64) {
        (*self.0.read().unwrap(), 0)
    }

    fn write(&self, value: Value) {
        *self.0.write().unwrap() = value;
    }
}

/// `parking_lot::RwLock`, 0.13.
pub struct ParkingLotRwLock(parking_lot::RwLock<Value>);

impl BenchSeq for ParkingLotRwLock {
    fn new(_readers: usize) -> Self {
        ParkingLotRwLock(parking_lot::RwLock::default())
    }

    #[inline]
    fn read(&self, _reader: usize) -> (Value, u64) {
        (*self.0.read(), 0)
    }

    fn write(&self, value: Value) {
        *self.0.write() = value;
    }
}

/// `arc_swap::ArcSwap`, 1.9: readers borrow the current allocation, a write makes a new one.
pub struct ArcSwapped(arc_swap::ArcSwap<Value>);

impl BenchSeq for ArcSwapped {
    fn new(_readers: usize) -> Self {
        ArcSwapped(arc_swap::ArcSwap::default())
    }

    #[inline]
    fn read(&self, _reader: usize) -> (Value, u64) {
        (**self.0.load(), 0)
    }

    fn write(&self, value: Value) {
        self.0.store(Arc::new(value));
    }
}

/// `seqlock::SeqLock`, 0.2. It does not tell how often a read started again.
pub struct SeqlockCrate(seqlock::SeqLock<Value>);

impl BenchSeq for SeqlockCrate {
    fn new(_readers: usize) -> Self {
        SeqlockCrate(seqlock::SeqLock::default())
    }

    #[inline]
    fn read(&self, _reader: usize) -> (Value, u64) {
        (self.0.read(), 0)
    }

    fn write(&self, value: Value) {
        *self.0.lock_write() = value;
    }
}
