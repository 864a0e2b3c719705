//! The feature set `material`.

use half::f16;
use shakmaty::{Board, Color, Role};

use super::Features;
use crate::KingBuckets;
use crate::feature::{Feature, FeatureRow, ROLE_NAMES};

/// Pieces by type.
pub(super) struct Material;

impl Features for Material {
    fn features(&self, _: Option<&KingBuckets>) -> Vec<Feature> {
        ROLE_NAMES.map(|role| Feature { name: role.to_string(), group: "material".to_string() }).to_vec()
    }

    fn definition(&self, _: &str) -> Option<&'static str> {
        Some("Pieces of a kind, White's less Black's.")
    }

    fn unit_rows(&self) -> bool {
        false
    }

    fn compute(&self, _: Option<&KingBuckets>, board: &Board, _: Color, row: &mut FeatureRow) {
        for (id, role) in Role::ALL.iter().enumerate() {
            let pieces = board.by_role(*role);
            let white = (pieces & board.by_color(Color::White)).count() as i32;
            let difference = white - (pieces.count() as i32 - white);
            if difference != 0 {
                row.plus.push(id as u16);
                row.coefficients.push(f16::from_f32(difference as f32));
            }
        }
    }

    fn on_square(&self, role: usize, _: usize) -> Option<usize> {
        Some(role)
    }
}
