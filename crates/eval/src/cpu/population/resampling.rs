//! Numbers of occurrences of games for a vector of members: [`poisson_weight`], lane by lane.

use pulp::Simd;

use gputexel_dataset::poisson_weight;

#[inline(always)]
pub(super) fn counts<S: Simd>(simd: S, game: u32, seeds: &[u32]) -> S::f32s {
    #[cfg(target_arch = "x86_64")]
    if let Some(&simd) = (&simd as &dyn std::any::Any).downcast_ref::<pulp::x86::V4>() {
        return bytemuck::cast(octaves::counts(simd, game, seeds.try_into().expect("a seed for each lane")));
    }
    let mut counts = [simd.splat_f32s(0.0)];
    // A plain loop over lanes: compiled with the implementation's instruction set, it is vectorized.
    for (count, &seed) in bytemuck::cast_slice_mut::<S::f32s, f32>(&mut counts).iter_mut().zip(seeds) {
        *count = poisson_weight(game, seed) as f32;
    }
    counts[0]
}

#[cfg(target_arch = "x86_64")]
mod octaves {
    use gputexel_dataset::{POISSON_TAILS, game_hash};
    use pulp::x86::V4;

    const OCTAVES: usize = u32::BITS as usize;
    /// The tail in each octave; 0 where there is none, which no hash is below.
    const TAILS: [u32; OCTAVES] = {
        let mut tails = [0; OCTAVES];
        let mut i = 0;
        while i < POISSON_TAILS.len() {
            let octave = POISSON_TAILS[i].leading_zeros() as usize;
            assert!(tails[octave] == 0, "two tails in one octave");
            tails[octave] = POISSON_TAILS[i];
            i += 1;
        }
        tails
    };
    /// The count of a hash that is not below the tail in its octave: the number of tails in the octaves above.
    const COUNTS: [f32; OCTAVES] = {
        let mut counts = [0.0; OCTAVES];
        let mut octave = 1;
        while octave < OCTAVES {
            counts[octave] = counts[octave - 1] + if TAILS[octave - 1] > 0 { 1.0 } else { 0.0 };
            octave += 1;
        }
        counts
    };

    #[inline(always)]
    pub(super) fn counts(simd: V4, game: u32, seeds: &[u32; 16]) -> [f32; 16] {
        let mut hashes = [0; 16];
        // A plain loop, which is vectorized.
        for (hash, &seed) in hashes.iter_mut().zip(seeds) {
            *hash = game_hash(game, seed);
        }
        let hashes = pulp::cast(hashes);
        let avx512 = simd.avx512f;
        // A hash of 0 belongs to the last octave.
        let octaves = avx512._mm512_or_epi32(hashes, avx512._mm512_set1_epi32(1));
        let octaves = simd.avx512cd._mm512_lzcnt_epi32(octaves);
        let [low, high]: [[u32; 16]; 2] = bytemuck::cast(TAILS);
        let tails = avx512._mm512_permutex2var_epi32(pulp::cast(low), octaves, pulp::cast(high));
        let [low, high]: [[f32; 16]; 2] = bytemuck::cast(COUNTS);
        let counts = avx512._mm512_permutex2var_ps(pulp::cast(low), octaves, pulp::cast(high));
        let below = avx512._mm512_cmplt_epu32_mask(hashes, tails);
        pulp::cast(avx512._mm512_mask_add_ps(counts, below, counts, avx512._mm512_set1_ps(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Simd, WithSimd};

    use super::*;
    use crate::cpu::InstructionSet;
    use gputexel_dataset::{POISSON_TAILS, game_hash};

    struct Counts<'a> {
        game: u32,
        seeds: &'a [u32],
    }

    impl WithSimd for Counts<'_> {
        type Output = Vec<f32>;

        fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
            let vectors = self.seeds.chunks_exact(S::F32_LANES);
            let counts = vectors.map(|seeds| counts(simd, self.game, seeds));
            counts.flat_map(|counts| bytemuck::cast_slice::<S::f32s, f32>(&[counts]).to_vec()).collect()
        }
    }

    /// Games and seeds whose hashes lie next to the tails, and many others: every count occurs.
    #[test]
    fn every_instruction_set_counts_alike() {
        let seeds: Vec<u32> = (0..1 << 14).collect();
        let mut seen = [0u32; POISSON_TAILS.len() + 1];
        for game in 0..200 {
            let want: Vec<f32> = seeds.iter().map(|&seed| poisson_weight(game, seed) as f32).collect();
            want.iter().for_each(|&count| seen[count as usize] += 1);
            for set in InstructionSet::available() {
                let got = set.dispatch(Counts { game, seeds: &seeds });
                assert_eq!(got, want, "{} in game {game}", set.name());
            }
        }
        assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
    }

    fn seed_of(hash: u32, game: u32) -> u32 {
        fn inverse(factor: u32) -> u32 {
            (0..5).fold(factor, |x, _| x.wrapping_mul(2u32.wrapping_sub(factor.wrapping_mul(x))))
        }
        let mut h = hash ^ (hash >> 16);
        h = h.wrapping_mul(inverse(0xc2b2_ae35));
        h ^= (h >> 13) ^ (h >> 26);
        h = h.wrapping_mul(inverse(0x85eb_ca6b));
        h ^= h >> 16;
        (h ^ game.wrapping_mul(0x9e37_79b1)).wrapping_mul(inverse(0x85eb_ca77))
    }

    #[test]
    fn hashes_at_tails_and_ends_of_octaves_count_as_they_should() {
        let near = POISSON_TAILS.into_iter().chain((0..32).map(|bit| 1 << bit)).chain([0, u32::MAX]);
        let mut hashes: Vec<u32> = near.flat_map(|h| [h.wrapping_sub(1), h, h.wrapping_add(1)]).collect();
        hashes.resize(hashes.len().next_multiple_of(16), 0);
        let game = 77;
        let seeds: Vec<u32> = hashes.iter().map(|&hash| seed_of(hash, game)).collect();
        for (&seed, &hash) in seeds.iter().zip(&hashes) {
            assert_eq!(game_hash(game, seed), hash);
        }
        let want: Vec<f32> =
            hashes.iter().map(|&h| POISSON_TAILS.iter().filter(|&&tail| h < tail).count() as f32).collect();
        for set in InstructionSet::available() {
            assert_eq!(set.dispatch(Counts { game, seeds: &seeds }), want, "{}", set.name());
        }
    }
}
