//! Values derived from bytes, for targets that build something valid.

/// Derives values from bytes, and after their end from a generator that they seed, so that short inputs make whole
/// datasets.
pub(crate) struct Source<'a> {
    bytes: &'a [u8],
    state: u64,
}

impl<'a> Source<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        // FNV-1a: any hash will do.
        let hash = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self { bytes, state: bytes.iter().fold(0xcbf2_9ce4_8422_2325, hash) }
    }

    pub fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((&first, rest)) => {
                self.bytes = rest;
                first
            }
            None => {
                // SplitMix64.
                self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = self.state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                (z >> 56) as u8
            }
        }
    }

    fn word(&mut self) -> u32 {
        u32::from(self.byte()) << 8 | u32::from(self.byte())
    }

    /// Returns a number from 0 to below `end`, which is at most 65,536.
    pub fn below(&mut self, end: usize) -> usize {
        let value = if end <= 256 { u32::from(self.byte()) } else { self.word() };
        value as usize % end.max(1)
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    pub fn once_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * f64::from(self.word()) / 65_535.0
    }
}
