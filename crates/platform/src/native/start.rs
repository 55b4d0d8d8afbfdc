//! What is done once, before `main`: what cannot wait until a lock is waited for. Registering the process
//! with membarrier (at once while it has one thread, tens of milliseconds later on), handlers of forks
//! (which must run before those of the program), what the environment says (which may change later). All
//! else is looked up at the first contended wait.

extern "C" fn constructor() {
    super::membarrier::register();
    super::cpu::find_rseq();
    super::cpu::note_environment();
    super::topology::note_environment();
    super::numa::note_environment();
    super::extension::note_environment();
    super::slots::make_key();
    super::fork::arm();
    #[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
    super::pin::stay_loaded();
}

#[used]
// SAFETY: .init_array holds pointers to functions of this signature; what `constructor` calls
// needs the C library alone, which is initialised before any constructor of a program runs.
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;
