//! Tiles: how many members share a workgroup, and whether it keeps its table in workgroup memory.

use crate::device::AdapterSummary;

use super::kernels::{RESIDUALS, stage_length};

pub(crate) const TILES: [usize; 4] = [4, 8, 16, 32];

/// Tiles to use instead of the estimated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileChoice {
    /// Members per tile for losses: 4, 8, 16 or 32.
    pub loss: usize,
    /// Members per tile for gradients.
    pub gradient: usize,
    /// True to keep tables in workgroup memory if they fit.
    pub staged: bool,
}

impl TileChoice {
    pub fn has_kernels(self) -> bool {
        TILES.contains(&self.loss) && TILES.contains(&self.gradient)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hardware {
    /// Loads that a gather of rows of a tile takes, by tile: rows of random features conflict in banks of memory.
    gathers: [f64; 4],
    /// Factor on the cost of a gather if tables are not in workgroup memory.
    unstaged: f64,
    /// False if workgroup memory that keeps a table costs more, by the workgroups that then do not fit, than it saves.
    stages: bool,
}

/// Wavefronts for 128 bytes of random rows, 32 banks of four bytes, simulated: a row of a tile of 4 has 16 bytes.
const BANKS: [f64; 4] = [2.60, 2.13, 1.49, 1.00];

impl Hardware {
    const NVIDIA: Self = Self { gathers: [2.60, 1.60, 1.12, 1.00], unstaged: 1.0, stages: false };
    const APPLE: Self = Self { gathers: BANKS, unstaged: 3.0, stages: true };
    /// Caches of 16 to 64 KiB.
    const OTHER: Self = Self { gathers: BANKS, unstaged: 1.5, stages: true };
    /// Workgroup memory is ordinary memory, but small enough to stay in a processor's first cache.
    pub(super) const SOFTWARE: Self = Self { gathers: [1.0; 4], unstaged: 1.07, stages: true };

    fn of(summary: &AdapterSummary) -> Self {
        const NVIDIA: u32 = 0x10de;
        match (summary.software, summary.backend.as_str(), summary.vendor) {
            (true, ..) => Self::SOFTWARE,
            (_, "metal", _) => Self::APPLE,
            (_, _, NVIDIA) => Self::NVIDIA,
            _ => Self::OTHER,
        }
    }
}

/// Assumptions about a device, on which the choice of a tile depends in addition to the population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceTraits {
    pub(super) hardware: Hardware,
    /// Workgroup memory, bytes.
    pub(super) memory: u32,
}

impl DeviceTraits {
    pub fn new(summary: &AdapterSummary) -> Self {
        Self { hardware: Hardware::of(summary), memory: summary.workgroup_memory_bytes }
    }

    fn fits(self, tile: usize, features: usize, gradients: bool) -> bool {
        let table = stage_length(tile, features);
        // In the loss kernel, sums replace the table.
        let reals = if gradients { table + RESIDUALS / 4 } else { table };
        tile > 1 && 16 * reals <= self.memory as usize
    }

    pub(crate) fn stages(
        self,
        choice: Option<TileChoice>,
        tile: usize,
        features: usize,
        gradients: bool,
    ) -> bool {
        choice.map_or(self.hardware.stages, |choice| choice.staged) && self.fits(tile, features, gradients)
    }

    /// Chooses the tile of a population of several members: little padding, and low cost.
    pub(crate) fn tile(
        self,
        choice: Option<TileChoice>,
        members: usize,
        features: usize,
        gradients: bool,
    ) -> usize {
        let chosen = choice.map(|choice| if gradients { choice.gradient } else { choice.loss });
        let cost = |tile: usize| self.cost(tile, gradients, self.stages(choice, tile, features, gradients));
        let least = TILES.map(cost).into_iter().fold(f64::MAX, f64::min);
        let of_all = |&tile: &usize| {
            let cost = if chosen == Some(tile) { 0.95 * least } else { cost(tile) };
            (members.div_ceil(tile) * tile) as f64 * cost
        };
        TILES.into_iter().rev().min_by(|a, b| of_all(a).total_cmp(&of_all(b))).unwrap_or(TILES[0])
    }

    fn cost(self, tile: usize, gradients: bool, staged: bool) -> f64 {
        let index = TILES.iter().position(|&t| t == tile).unwrap_or(0);
        let gather = self.hardware.gathers[index];
        let table = gather * if staged { 1.0 } else { self.hardware.unstaged };
        let ids = 2.7 / tile as f64;
        if !gradients {
            return table + ids;
        }
        // Residuals are also gathered, but in the order of runs. A run ends with a slab update, and has an entry for
        // every 28th position of a block with piece-square features.
        let run = (RESIDUALS / tile) as f64 / 28.0;
        table + ids + gather + 2.0 / run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u32 = 1 << 10;

    #[test]
    fn tables_are_staged_where_they_fit() {
        let device = |memory| DeviceTraits { hardware: Hardware::OTHER, memory };
        // 384 rows of 128 bytes are exactly 48 KiB, without the row of zeros.
        assert!(
            device(48 * KIB).stages(None, 32, 384, false) && !device(48 * KIB).stages(None, 32, 385, false)
        );
        assert!(
            device(32 * KIB).stages(None, 16, 384, false) && !device(32 * KIB).stages(None, 32, 384, false)
        );
        assert!(
            !device(16 * KIB).stages(None, 16, 384, false) && device(16 * KIB).stages(None, 8, 384, false)
        );
        // Residuals take 16 KiB.
        assert!(
            device(48 * KIB).stages(None, 16, 384, true) && !device(48 * KIB).stages(None, 32, 384, true)
        );
        assert!(!device(48 * KIB).stages(None, 1, 384, false));
        let never = TileChoice { loss: 32, gradient: 32, staged: false };
        assert!(!device(48 * KIB).stages(Some(never), 16, 384, false));
    }

    #[test]
    fn tiles_follow_the_hardware_and_the_choice() {
        let device = |hardware, memory| DeviceTraits { hardware, memory };
        let nvidia = device(Hardware::NVIDIA, 48 * KIB);
        assert_eq!([false, true].map(|gradients| nvidia.tile(None, 4096, 384, gradients)), [32, 32]);
        assert!(!nvidia.stages(None, 8, 384, false));
        assert_eq!(device(Hardware::APPLE, 32 * KIB).tile(None, 4096, 384, false), 16);
        for tile in TILES {
            let choice = TileChoice { loss: tile, gradient: tile, staged: true };
            let device = device(Hardware::OTHER, 32 * KIB);
            assert_eq!(device.tile(Some(choice), 4096, 384, false), tile);
            // Small populations are not padded to large tiles.
            assert!(device.tile(Some(choice), 3, 384, false) <= 8);
        }
        // Ties go to larger tiles, padding to smaller ones.
        let software = device(Hardware::SOFTWARE, 32 * KIB);
        assert_eq!(software.tile(None, 64, 384, false), 32);
        assert_eq!(software.tile(None, 4, 384, false), 4);
        assert_eq!(software.tile(None, 128, 384, true), 8);
    }
}
