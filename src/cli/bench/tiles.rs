//! What `gputexel bench --tiles` prints.

use std::fmt::Write as _;

use gputexel::devices::bench::{DeviceTiles, FastestTiles, Kept, TILE_MEMBERS, TilesReport};

use super::super::table::{aligned, counted, grouped};
use super::milliseconds;

pub(super) fn describe(report: &TilesReport) -> String {
    if report.devices.is_empty() {
        return "no adapter to measure\n".to_string();
    }
    let mut text = format!(
        "{}, {}\n",
        counted(report.positions as u64, "position"),
        counted(report.features as u64, "feature")
    );
    for device in &report.devices {
        let _ = writeln!(text, "{} ({}), {}", device.name, device.kind, device.driver);
        if let Some(why) = &device.error {
            let _ = writeln!(text, "  not measured: {why}");
        }
        if let (Some(fastest), Some(kept)) = (&device.fastest, &device.kept) {
            text += &aligned(&rows(device), 2);
            let _ = writeln!(text, "  * estimated, and used unless another choice is kept");
            let _ = writeln!(text, "  fastest: {}", sentence(fastest));
            let _ = writeln!(text, "  {}", outcome(kept));
        }
    }
    text
}

/// A line for each variant, a column for each number of members; times are of one million pairs.
fn rows(device: &DeviceTiles) -> Vec<Vec<String>> {
    let mut titles = vec!["computed".to_string(), "tile".to_string(), "table in".to_string()];
    titles.extend(TILE_MEMBERS.map(|members| format!("{} members", grouped(members as u64))));
    let mut rows = vec![titles];
    let kinds = device.cells.iter().filter(|cell| cell.members == TILE_MEMBERS[0]);
    for kind in kinds {
        let mut row = vec![
            if kind.gradients { "loss, gradient" } else { "loss" }.to_string(),
            kind.tile.to_string(),
            if kind.staged { "workgroup memory" } else { "cache" }.to_string(),
        ];
        for members in TILE_MEMBERS {
            let cell = device.cells.iter().find(|cell| {
                (cell.gradients, cell.members) == (kind.gradients, members)
                    && (cell.tile, cell.staged) == (kind.tile, kind.staged)
            });
            row.push(cell.map_or("-".to_string(), |cell| {
                let pairs = (cell.positions * cell.members) as f64;
                let mark = if cell.estimated { " *" } else { "" };
                format!("{}{mark}", milliseconds(cell.seconds / pairs * 1e6))
            }));
        }
        rows.push(row);
    }
    rows[0].iter_mut().skip(3).for_each(|title| title.push_str(", per M pairs"));
    rows
}

fn sentence(fastest: &FastestTiles) -> String {
    let FastestTiles { loss, gradient, staged, gain } = *fastest;
    let table = if staged { "in workgroup memory where they fit" } else { "in caches" };
    let than = match gain {
        gain if gain >= 0.0005 => format!("{:.1} % faster than the estimate", 100.0 * gain),
        _ => "as fast as the estimate".to_string(),
    };
    format!("tiles of {loss} for losses and of {gradient} for gradients, tables {table}: {than}")
}

fn outcome(kept: &Kept) -> String {
    match kept {
        Kept::Stored => "kept: runs on this adapter use it from now on".to_string(),
        Kept::Removed => "the choice that was kept before is removed; the estimate is used again".to_string(),
        Kept::EstimateStays => "nothing is kept; the estimate remains in use".to_string(),
        Kept::Failed(why) => format!("could not be kept: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_told() {
        let fastest = |gain| FastestTiles { loss: 16, gradient: 8, staged: true, gain };
        assert_eq!(
            sentence(&fastest(0.1234)),
            "tiles of 16 for losses and of 8 for gradients, tables in workgroup memory where they fit: 12.3 % faster than the estimate"
        );
        assert!(sentence(&fastest(0.0)).ends_with("as fast as the estimate"));
        assert_eq!(outcome(&Kept::Failed("no room".to_string())), "could not be kept: no room");
    }
}
