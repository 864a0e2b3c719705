//! Describes configuration, inputs and warnings of a run.

use gputexel_dataset::Dataset;
use gputexel_dataset::objective::ScaleForms;
use gputexel_model::{ParameterFile, Parameterization};
use gputexel_report::{Table, grouped};
use gputexel_tune::{RunConfig, RunRecord};

/// Correlation from which two values are tied, and shown as +1.000.
const TIED: f64 = 0.9995;

fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_string).to_vec()
}

/// Returns values that the data can hardly distinguish; `None` if errors are unknown. Without pairs that penalties or a
/// basis tie to each other.
pub fn correlations(file: &ParameterFile) -> Option<Table> {
    let known = file.uncertainty.as_ref()?.correlations.iter();
    let found: Vec<_> = known.filter(|pair| pair.r < TIED).collect();
    let row = |pair: &&gputexel_model::CorrelationRecord| {
        vec![pair.a.clone(), pair.b.clone(), format!("{:+.3}", pair.r)]
    };
    (!found.is_empty()).then(|| Table {
        caption: "The strongest correlations of estimates; near −1, \
                  their sum is known better than either"
            .to_string(),
        header: strings(["parameter", "and", "correlation"]),
        rows: found.iter().map(row).collect(),
    })
}

pub fn errors_note(file: &ParameterFile) -> String {
    let Some(record) = &file.uncertainty else { return String::new() };
    let units = if file.program.is_some() { " (of accumulators in units of their sums)" } else { "" };
    let mut note = format!(
        "± are standard errors in centipawns{units}, {} {}s counted as independent.",
        grouped(record.clusters),
        record.clustered_by
    );
    if record.undetermined > 0 {
        note += &format!(
            " {} without effect on any score, such as a constant on all king squares, excluded from the errors.",
            gputexel_io::counted(record.undetermined, "direction")
        );
    }
    if record.curvature == "gauss-newton" {
        note += " The values are not at a minimum: errors are computed from the Gauss–Newton matrix.";
    }
    note
}

pub fn configuration(record: &RunRecord, file: Option<&ParameterFile>) -> Vec<(String, String)> {
    let config = &record.config;
    let forms = ScaleForms::new(config.k);
    let optimizer = match file.map(|file| file.provenance.optimizer.as_str()).filter(|text| !text.is_empty())
    {
        Some(text) => text.to_string(),
        None => config.optimizer.summary(),
    };
    let mut rows = vec![
        ("program", record.program.clone()),
        ("command", record.command_line.clone()),
        ("begun", record.started.clone()),
        ("optimizer", optimizer),
        ("loss", config.loss.to_string()),
        (
            "K",
            format!(
                "{:.6} base 10 = {:.6} base e = win scale {:.2} = scale {:.2}",
                forms.k, forms.k_e, forms.win_scale, forms.e_scale
            ),
        ),
        ("targets", targets(record)),
        ("prior", config.prior.clone()),
        (
            "held out",
            match &record.strength {
                _ if config.holdout > 0.0 => format!("{} of the games", config.holdout),
                Some(strength) => format!("each of {} folds in turn", strength.folds),
                None => "nothing".to_string(),
            },
        ),
        ("seed", config.seed.to_string()),
        ("rounding", config.round.to_string()),
    ];
    let basis = |basis: &Parameterization| format!("{}, {} coordinates", basis.name, basis.dimension());
    rows.extend(config.named_basis().map(|named| ("basis", basis(named))));
    rows.extend(file.map(|file| ("feature set", format!("{}, phase {}", file.feature_set, file.phase))));
    rows.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

fn targets(record: &RunRecord) -> String {
    let Some(blend) = record.config.blend else { return "those of the dataset".to_string() };
    let mut text = format!(
        "{} search score (K {:.6}) + {} result; calibration and residuals are against these targets",
        blend.share,
        blend.k,
        1.0 - blend.share
    );
    if let Some(known) = &record.blend
        && known.scored < known.positions
    {
        let without = grouped(known.positions - known.scored);
        text += &format!(
            "; {without} of {} positions have no score and keep the result",
            grouped(known.positions)
        );
    }
    text
}

/// Returns the datasets with their checksums and, if available, their origin.
pub fn inputs(config: &RunConfig, data: Option<&Dataset>) -> Table {
    let mut rows = Vec::new();
    let checksums: Vec<&str> = config.checksum.split('+').collect();
    for (i, path) in config.datasets.iter().enumerate() {
        let checksum = checksums.get(i).copied().unwrap_or(&config.checksum);
        rows.push(vec![path.clone(), "dataset".to_string(), format!("xxh3 {checksum}")]);
    }
    if let Some(data) = data {
        for source in &data.metadata().sources {
            let positions =
                format!("{} positions of {} records", grouped(source.positions), grouped(source.records));
            rows.push(vec![source.path.clone(), source.format.clone(), positions]);
        }
    }
    Table { caption: "Inputs".to_string(), header: strings(["file", "format", "contents"]), rows }
}
