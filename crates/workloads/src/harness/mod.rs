//! What every native round needs: threads that start and stop together, what they use of the
//! machine, how long they wait, and random numbers that cost them little.

mod draw;
mod interrupt;
pub(crate) mod team;
mod usage;
mod waits;

pub use draw::Draw;
pub use interrupt::Interrupt;
pub use usage::Usage;
pub use waits::Waits;
