//! What is loaded where, for those who name addresses when the process has gone.

use core::ffi::CStr;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_statfile::{File, Module};

use crate::elf;

/// Makes sure that the modules of these addresses are in the table, as far as anything is known of
/// them.
pub fn cover(file: &File, addresses: impl Iterator<Item = usize>) {
    for address in addresses {
        if !file.modules.iter().any(|module| has(module, address)) {
            return discover(file);
        }
    }
}

fn has(module: &Module, address: usize) -> bool {
    // Ordering: Relaxed, stat (block)
    let (start, end) = (module.start.load(Relaxed), module.end.load(Relaxed));
    (start..end).contains(&(address as u64))
}

/// Enters what is loaded and not in the table yet. A thread that finds another at it leaves it to
/// that.
#[cold]
fn discover(file: &File) {
    static BUSY: AtomicBool = AtomicBool::new(false);
    // Ordering: Acquire, [modules.busy]: pairs with the store below
    if BUSY.swap(true, Acquire) {
        return;
    }
    elf::each_object(|object| {
        let known = file.modules.iter().position(|module| {
            // Ordering: Relaxed, owner-only (BUSY admits one thread)
            let start = module.start.load(Relaxed);
            start == 0 || start == object.start as u64
        });
        let Some(module) = known.map(|index| &file.modules[index]) else { return };
        // Ordering: Relaxed, owner-only (BUSY admits one thread)
        if module.start.load(Relaxed) != 0 {
            return;
        }
        let path = if object.name.is_empty() { own_program(file) } else { copy(object.name) };
        for (place, byte) in module.path.iter().zip(path) {
            // Ordering: Relaxed, stat
            place.store(byte, Relaxed);
        }
        // Ordering: Relaxed, stat (block)
        module.base.store(object.base as u64, Relaxed);
        module.start.store(object.start as u64, Relaxed);
        module.end.store(object.end as u64, Relaxed);
    });
    // Edges
    //  [modules.busy]  discover: BUSY store Release -> discover: BUSY swap Acquire  publishes the entries
    // Ordering: Release, [modules.busy]: pairs with the swap above
    BUSY.store(false, Release);
}

fn copy(name: &CStr) -> [u8; 232] {
    let mut path = [0; 232];
    for (place, &byte) in path.iter_mut().zip(name.to_bytes()) {
        *place = byte;
    }
    path
}

fn own_program(file: &File) -> [u8; 232] {
    // Ordering: Relaxed, stat
    core::array::from_fn(|i| file.header.program[i].load(Relaxed))
}
