//! Random numbers of simulated runs: a generator for each repeat.

use std::convert::Infallible;

use rand::{SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// SplitMix64's finalizer.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn state(seed: u64, repeat: u64) -> [u64; 4] {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = mix(seed ^ mix(repeat.wrapping_add(GAMMA)));
    [(); 4].map(|()| {
        z = z.wrapping_add(GAMMA);
        mix(z)
    })
}

/// The generator of one repeat as a [`Tuner`](crate::Tuner) takes it: 32-bit numbers are signs, 64 of which
/// come from one word, lowest bit first, a bit not set meaning +.
#[derive(Clone, Debug)]
pub(super) struct SignRandom {
    words: Xoshiro256PlusPlus,
    signs: u64,
    left: u32,
}

impl SignRandom {
    pub fn new(seed: u64, repeat: u64) -> Self {
        let mut bytes = [0; 32];
        for (to, word) in bytes.chunks_exact_mut(8).zip(state(seed, repeat)) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        Self { words: Xoshiro256PlusPlus::from_seed(bytes), signs: 0, left: 0 }
    }

    /// Forgets the signs left in the current word.
    pub fn start_iteration(&mut self) {
        self.left = 0;
    }

    pub fn word(&mut self) -> u64 {
        let Ok(word) = self.words.try_next_u64();
        word
    }
}

impl TryRng for SignRandom {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        if self.left == 0 {
            (self.signs, self.left) = (self.word(), 64);
        }
        let plus = self.signs & 1 == 0;
        self.signs >>= 1;
        self.left -= 1;
        Ok(u32::from(plus) << 31)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.word())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.words.try_fill_bytes(bytes)
    }
}
