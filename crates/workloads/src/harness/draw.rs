//! Random numbers for loops that are measured.

/// Numbers at random, cheaply: xorshift, and the high bits of a product.
pub struct Draw(u64);

impl Draw {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Draw((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number in `0..end`; `end` is above 0.
    #[inline(always)]
    pub fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(end)) >> 32) as u32
    }
}
