//! A piece-square table as a small board for the terminal.

use crate::model::FeatureSet;

/// Middlegame and endgame tables of a group side by side, eighth rank first; `None` for a group
/// that is not a table of squares.
pub fn board(set: &FeatureSet, theta: &[f64], group: &str) -> Option<String> {
    let ids: Vec<usize> = (0..set.features.len()).filter(|&id| set.features[id].group == group).collect();
    let &[first, ..] = &ids[..] else { return None };
    if ids.len() != 64 {
        return None;
    }
    let value =
        |phase: usize, square: usize| theta[phase * set.features.len() + first + square].round() as i64;
    let width = (0..2)
        .flat_map(|phase| (0..64).map(move |square| value(phase, square).to_string().len()))
        .max()
        .unwrap_or(1)
        .max(3);
    let half = 8 * (width + 1);
    let mut text =
        format!("  {:<half$}     {}\n", format!("{group}, middlegame"), format_args!("{group}, endgame"));
    for rank in (0..8).rev() {
        for phase in 0..2 {
            text += &format!("{}{}", if phase == 0 { "" } else { "   " }, rank + 1);
            for file in 0..8 {
                text += &format!(" {:>width$}", value(phase, 8 * rank + file));
            }
            text += " ";
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    let files: String = ('a'..='h').map(|file| format!(" {file:>width$}")).collect();
    text += &format!(" {files}     {files}\n");
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::PhaseSettings;
    use crate::model::FeatureKind;

    #[test]
    fn the_eighth_rank_comes_first() {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let theta: Vec<f64> = (0..768).map(f64::from).collect();
        let text = board(&set, &theta, "knight").unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[1], "8 120 121 122 123 124 125 126 127    8 504 505 506 507 508 509 510 511");
        assert_eq!(lines[8], "1  64  65  66  67  68  69  70  71    1 448 449 450 451 452 453 454 455");
        let material = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        assert!(board(&material, &[0.0; 12], "material").is_none());
    }
}
