//! Results of runs for people: boards for the terminal, pictures (SVG) and pages (HTML).
//!
//! Renders data and decides nothing.

mod bands;
mod board;
mod comparison;
mod curve;
mod folder;
mod heat;
mod html;
mod number_text;
mod paths;
mod report;
mod span;
mod svg;
mod sweep_chart;

pub use bands::{BandPanel, Bands};
pub use board::{board, change_boards};
pub use comparison::{
    Change, Contender, Contenders, DIFFERENCE_ERRORS_NOTE, Differences, Loss, Losses, Side, SortBy,
};
pub use curve::{Curve, Spacing};
pub use folder::{InHand, Positions, is_match, is_sweep};
pub use heat::HeatMap;
pub use html::{
    Comparison, Contest, ContestColumn, CoordinateValue, Entrant, ListedRun, Live, MatchReport, Page,
    Parameter, Part, PenaltyRow, Picture, RunList, RunReport, SpsaReport, Stage, Standing, Step,
    StrengthReport, Swarms, SweepAxis, SweepReport, SweepSetting, Table, ValuePath, bytes, grouped, notice,
};
pub use paths::{Path, Paths};
pub use report::Report;
pub use span::Span;
pub use sweep_chart::sweep_picture;
