//! Plans for sizes that no test could allocate: nothing overflows, and no dispatch exceeds WebGPU's guaranteed limits.

use super::kernels::MAX_BLOCK;
use super::plan::{self, Budget, GpuOptions, Sizes, Tiling};
use super::shard::Span;
use super::tiles::{DeviceTraits, Hardware};

const MAX_GROUPS: u32 = 65_535;

fn options() -> GpuOptions {
    GpuOptions {
        memory_bytes: None,
        binding_bytes: (1 << 31) - 256,
        slab_bytes: 1 << 30,
        pairs_per_dispatch: 1 << 31,
        workgroups: 4096,
        tile: None,
        choice: None,
        device: DeviceTraits { hardware: Hardware::SOFTWARE, memory: 48 << 10 },
        cell: 1 << 16,
    }
}

#[test]
fn two_billion_positions_are_cut_without_overflow() {
    let count = (1usize << 31) - 1;
    for members in [1, 64, 4096] {
        for gradients in [false, true] {
            let tiling = Tiling::new(&options(), members, 384, gradients);
            let spans = [Span { positions: 0..count, taper: 0, part: 0 }];
            let cut = plan::segments(&options(), &[&spans], 0..count, tiling, gradients);
            let mut next = 0u32;
            for segment in cut.iter().flatten() {
                assert_eq!(segment.first, next);
                assert!(segment.end > segment.first && segment.end - segment.first <= 1 << 16);
                next = segment.end;
            }
            assert_eq!(next as usize, count);
            // Few enough segments for the losses of a tile to fit a binding.
            let sizes = Sizes { features: 384, tapers: 1, parts: 0, segments: cut[0].len(), gradients };
            let room = plan::max_members(&options(), &Budget::new(&options(), None), sizes);
            assert!(room >= tiling.tile, "{} segments leave room for {room} members", cut[0].len());
        }
    }
    let spans = [Span { positions: 0..count, taper: 0, part: 0 }];
    let matrices = plan::split_into_segments(&[&spans], 0..count, 16 * MAX_BLOCK, 1 << 16, MAX_BLOCK);
    assert_eq!(matrices[0].last().map(|segment| segment.end as usize), Some(count));
}

#[test]
fn tables_and_sums_of_a_chunk_fit_a_binding_and_32_bits() {
    for binding_bytes in [(1 << 31) - 256, 128 << 20, 1 << 20] {
        let options = GpuOptions { binding_bytes, slab_bytes: binding_bytes, ..options() };
        let budget = Budget::new(&options, None);
        for features in [1, 384, 4096, 65_535] {
            for tapers in [1, 25, 1600] {
                for segments in [1, 32_768, 1 << 20] {
                    for gradients in [false, true] {
                        let sizes = Sizes { features, tapers, parts: 65_535, segments, gradients };
                        let members = plan::max_members(&options, &budget, sizes) as u64;
                        assert!(members <= u64::from(MAX_GROUPS));
                        let rows = [tapers * features + 4, 2 * segments, 2 * features];
                        let used = if gradients { &rows[..] } else { &rows[..2] };
                        for &rows in used {
                            let floats = rows as u64 * members;
                            assert!(
                                4 * floats <= binding_bytes && floats <= u64::from(u32::MAX),
                                "{sizes:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}
