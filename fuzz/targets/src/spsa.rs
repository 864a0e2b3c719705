//! Lists, configurations and states of SPSA.

use std::path::Path;

use gputexel_spsa::config::{Conf, RunConfig};
use gputexel_spsa::lists::{
    FillingPlan, ListFormat, ListOptions, convert, parse_list, parse_variables, read_values, write_list,
};
use gputexel_spsa::{Tuner, variables};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use crate::bundle;

/// A list in the format selected by the first byte, or detected: written in every format that can represent it, it is
/// read again as the same; values are taken from it.
pub(crate) fn list(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let (body, gains) = match bundle::parts(data).is_empty() {
        true => (data, None),
        false => (bundle::part(data, "list"), Some(bundle::part(data, "gains"))),
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let beside = folder.path().join("spsa.json");
    if let Some(gains) = gains {
        std::fs::write(&beside, gains).expect("room for a temporary file");
    }
    let beside = gains.map(|_| beside.as_path());
    let format = ListFormat::ALL.get(usize::from(first)).copied();
    let options = ListOptions { games: Some(20_000) };
    let path = Path::new(["list", "list.params", "config.json", "list.toml"][usize::from(first) % 4]);
    let _ = parse_variables(body, path);
    let Ok(list) = parse_list(body, path, format, options, beside) else { return };
    let names: Vec<&str> = list.entries.iter().map(|entry| entry.name.as_str()).collect();
    for entry in &list.entries {
        assert!(entry.start.is_finite());
        if let Ok(variable) = entry.variable() {
            let _ = variable.validate();
        }
    }
    for format in ListFormat::ALL {
        if let Ok(written) = write_list(&list.entries, format, options) {
            let again = parse_list(written.text.as_bytes(), path, Some(format), options, None);
            let again = again.expect("what is written can be read");
            let found: Vec<&str> = again.entries.iter().map(|entry| entry.name.as_str()).collect();
            assert_eq!(found, names, "{format}");
            for (own, read) in list.entries.iter().zip(&again.entries) {
                let error = (own.start - read.start).abs();
                assert!(
                    error <= 1e-9 * own.start.abs().max(1.0) || own.integer,
                    "{format}: {} {}",
                    own.start,
                    read.start
                );
            }
        }
        let plan = FillingPlan { pairs: 10_000, draw_rate: 0.5, elo: Some(2.0) };
        let _ = convert(list.clone(), format, options, None, Some(&plan));
    }
    let values = folder.path().join("values");
    std::fs::write(&values, body).expect("room for a temporary file");
    let mut entries = list.entries.clone();
    let _ = read_values(&values, &mut entries);
}

/// A configuration, TOML or INI, which survives a round trip.
pub(crate) fn config(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["spsa.toml", "spsa.conf"] {
        let path = folder.path().join(name);
        std::fs::write(&path, data).expect("room for a temporary file");
        match Conf::open(&path) {
            Ok(Conf::Games(config)) => {
                let _ = config.validate();
                let _ = variables::validate(&config.parameters);
                let text = config.to_toml();
                let again = RunConfig::parse(&text, &path).expect("what is written can be read");
                assert_eq!(again.to_toml(), text);
                if let Ok(mut tuner) = Tuner::try_new(config.settings(), config.parameters.clone()) {
                    play(&mut tuner);
                }
            }
            Ok(Conf::Simulation(simulation)) => {
                if let Ok(mut tuner) = Tuner::try_new(simulation.settings, simulation.variables) {
                    play(&mut tuner);
                }
            }
            Err(_) => {}
        }
    }
}

/// Plays a few pairs; values stay within their bounds.
fn play(tuner: &mut Tuner) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for half_points in [0, 1, 2, 3, 4, 4, 2] {
        let Some(perturbation) = tuner.ask(&mut rng) else { break };
        if tuner.tell(&perturbation, half_points).is_err() {
            break;
        }
        assert!(tuner.values().iter().all(|value| value.is_finite()));
    }
}

/// The state of a tuner.
pub(crate) fn state(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(mut tuner) = Tuner::restore(text) {
        play(&mut tuner);
    }
}
