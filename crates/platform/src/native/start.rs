//! What is done once, before `main`: so that no lock operation allocates, opens files, takes locks
//! of the C library, or misses a fork.

extern "C" fn constructor() {
    super::membarrier::register();
    super::cpu::find_rseq();
    super::cpu::count();
    super::topology::note_environment();
    super::clock::calibrate();
    super::slots::make_key();
    super::fork::arm();
}

#[used]
// SAFETY: .init_array holds pointers to functions of this signature; what `constructor` calls
// needs the C library alone, which is initialised before any constructor of a program runs.
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;
