//! What the tests of the machine share; not each uses all of it.

#![allow(dead_code)]

use std::rc::Rc;
use std::time::Duration;

use lockwright_platform::Word;
use lockwright_sim::{Machine, Placement, Setup, SimWord};

#[repr(align(64))]
pub struct Aligned<T>(pub T);

pub type W64 = SimWord<u64>;

pub fn line(value: u64) -> Rc<Aligned<W64>> {
    Rc::new(Aligned(Word::new(value)))
}

pub fn machine(name: &str) -> Machine {
    Machine::built_in().into_iter().find(|machine| machine.name == name).unwrap()
}

/// A machine without chance.
pub fn steady(name: &str) -> Machine {
    let mut machine = machine(name);
    for number in
        ["latency.jitter", "latency.spread", "latency.keep_low", "latency.keep_high", "core.path"]
    {
        machine.number_mut(number).unwrap().value = 0.0;
    }
    machine
}

pub const SETUP: Setup = Setup {
    placement: Placement::Numbered,
    bound: true,
    home: None,
    seed: 1,
    limit: Duration::from_secs(10),
    one_line: None,
    stop: || false,
    patience: None,
};

pub fn threads(bodies: Vec<Box<dyn FnOnce()>>) -> Vec<Box<dyn FnOnce()>> {
    bodies
}
