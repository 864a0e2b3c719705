//! Values as lines of a `.params` file, which `patch apply` writes into sources and SPSA tuning starts from.

use super::code::{Overflow, fit};
use super::header::Header;
use super::lists::PHASES;
use super::{NameStyle, Rounding, check_untapered};
use crate::tables::sources::quote;
use gputexel_io::params::{ParamEntry, ParamKind, ParamsFile};
use gputexel_io::{Error, Result};
use gputexel_model::ParameterFile;

/// Lines of name, type, value, and the range, step and delta of [`ParamEntry::from_source`].
pub fn write(
    file: &ParameterFile,
    rounding: Rounding,
    style: NameStyle,
    untapered: bool,
    header: &Header,
) -> Result<String> {
    if untapered {
        check_untapered(file)?;
    }
    let kind = if rounding.is_whole() { ParamKind::Int } else { ParamKind::Float };
    let mut params = ParamsFile::default();
    let mut seen = std::collections::HashMap::new();
    for record in &file.parameters {
        let own = style.identifier(&record.name);
        let names = match untapered {
            true => vec![own],
            false => PHASES.map(|phase| format!("{own}{}", style.ending(phase))).to_vec(),
        };
        for (phase, name) in names.into_iter().enumerate() {
            if let Some(other) = seen.insert(name.clone(), &record.name) {
                let (one, other) = (quote(other), quote(&record.name));
                let reason =
                    format!("parameters {one} and {other} are both called {name}; try another --style");
                return Err(Error::Usage(reason));
            }
            let value = rounding.round([record.mg, record.eg][phase]);
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
    Ok(format!("// {}\n", header.machine()) + &params.text())
}
