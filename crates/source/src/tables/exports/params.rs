//! Values as lines of a `.params` file, which `patch apply` writes into sources and SPSA tuning starts from.

use super::code::{Overflow, fit};
use super::header::Header;
use super::lists::PHASES;
use super::{NameStyle, Rounding, check_untapered};
use crate::tables::Remedy;
use crate::tables::sources::quote;
use gputexel_io::params::{ParamEntry, ParamKind, ParamsFile};
use gputexel_io::{Error, Result};
use gputexel_model::ParameterFile;

/// Lines of name, type, value, and the range, step and delta of [`ParamEntry::from_source`].
pub fn write(
    file: &ParameterFile,
    rounding: Rounding,
    (style, prefix, untapered): (NameStyle, &str, bool),
    header: Option<&Header>,
) -> Result<String> {
    if untapered {
        check_untapered(file)?;
    }
    let kind = if rounding.is_whole() { ParamKind::Int } else { ParamKind::Float };
    let mut params = ParamsFile::default();
    let mut seen = std::collections::HashMap::new();
    for record in &file.parameters {
        let own = style.identifier(prefix, &record.name);
        let names = match untapered {
            true => vec![own],
            false => PHASES.map(|phase| format!("{own}{}", style.ending(phase))).to_vec(),
        };
        for (phase, name) in names.into_iter().enumerate() {
            if let Some(other) = seen.insert(name.clone(), &record.name) {
                let reason =
                    format!("parameters {} and {} are both called {name}", quote(other), quote(&record.name));
                return Err(Error::Usage(reason).advise(Remedy::OtherStyle));
            }
            let value = rounding.round([record.mg, record.eg][phase] * rounding.scale());
            let value = fit(value, rounding, Overflow::Refuse, || name.clone())?;
            let entry = ParamEntry::from_source(name, kind, value);
            if ![entry.min.value, entry.max.value].into_iter().all(f64::is_finite) {
                let reason =
                    format!("{} is {value}: too large for a range of twice that", quote(&entry.name));
                return Err(Error::Usage(reason));
            }
            params.push(entry);
        }
    }
    let header = header.map_or(String::new(), |header| format!("// {}\n", header.machine()));
    Ok(header + &params.text())
}
