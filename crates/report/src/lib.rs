//! Renders results of runs: boards for the terminal, pictures (SVG) and pages (HTML).

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod board;
mod conclusion;
mod diagnostics;
mod html;
pub mod live;
mod number_text;
mod report;
mod span;

pub use board::{Known, change_boards, shape_board};
pub use conclusion::{Conclusion, Finding, FindingKind, Judgement, Severity, Verdict, quoted};
pub use diagnostics::{
    AdjustmentDiagnostics, Calibration, CalibrationBin, Diagnostics, FactorDiagnostics, FactorGroup,
    Histogram, PartWorth, ProgramDiagnostics, Residual, SetDiagnostics, SumDiagnostics, TermDiagnostics,
    Worth,
};
pub use html::{
    Comparison, CoordinateValue, Heading, ListedRun, Live, MatchReport, Page, Parameter, Part, PenaltyRow,
    RunList, RunReport, SharedTrait, SpsaReport, Stage, Standing, Step, StrengthReport, Swarms, SweepAxis,
    SweepReport, SweepSetting, Table, ValuePath, WorstPosition, WorstPositions, bytes, grouped, notice,
    remaining_seconds,
};
pub use report::Report;
