//! `gputexel bench`, and the document that collects its reports.

use crate::common::prelude::*;
use gputexel::devices::bench::{BenchReport, MEMBERS};
use std::fmt::Write as _;

/// Standard error without warnings about a busy machine, which ours may be.
fn calm(err: &str) -> String {
    let is_busy = |line: &str| {
        let warning = line.strip_prefix("gputexel: warning: ").unwrap_or_default();
        warning.starts_with("the load of this machine was ") || warning.contains(" scatter by more than ")
    };
    err.split_inclusive('\n').filter(|line| !is_busy(line)).collect()
}

/// Runs `bench` with `--json`; returns the report, and all of standard error.
fn measured(bench: &Bench, args: impl Words) -> (Value, String) {
    let (code, out, err) = bench.run(("--json bench", &args));
    assert_eq!((code, calm(&err).as_str()), (0, ""), "{:?}", args.words());
    (serde_json::from_str(&out).unwrap(), err)
}

#[test]
#[ignore = "full"]
fn the_cpu_is_measured_in_every_cell() {
    let bench = Bench::with_positions(3000, 1);
    let (report, err) = measured(&bench, "d.bin --device cpu --seconds 0.01 -o r.json");
    assert_eq!(bench.json("r.json"), report);
    let report: BenchReport = serde_json::from_value(report).unwrap();
    let warnings: String =
        report.warnings().iter().map(|warning| format!("gputexel: warning: {warning}\n")).collect();
    assert_eq!(err, warnings);
    assert_eq!((report.positions, report.features), (3000, 384));
    assert!(!report.devices.is_empty());
    for device in &report.devices {
        assert_eq!((&device.kind[..], &device.error), ("CPU", &None));
        let cells: Vec<_> = device.cells.iter().map(|cell| (cell.members, cell.gradients)).collect();
        let wanted: Vec<_> =
            MEMBERS.into_iter().flat_map(|members| [(members, false), (members, true)]).collect();
        assert_eq!(cells, wanted);
        for cell in &device.cells {
            assert!(cell.positions >= 2 && cell.positions <= 3000 && cell.evaluations >= 3, "{cell:?}");
            let rate = (cell.positions * cell.members) as f64 / cell.seconds;
            assert!((cell.pairs_per_second / rate - 1.0).abs() < 1e-9, "{cell:?}");
            assert!(cell.device_seconds.is_none(), "{cell:?}");
        }
    }
    // `-` is not a file.
    let (code, out, err) = bench.run("bench d.bin -q --device cpu --seconds 0.01 -o -");
    assert_eq!((code, calm(&err).as_str()), (0, ""));
    assert_eq!(serde_json::from_str::<BenchReport>(&out).unwrap().devices.len(), report.devices.len());
    assert!(!bench.path("-").exists());
    bench.fails_with("bench d.bin -o r.json", 2, "r.json: exists; use --force");
    bench.fails_with("bench d.bin -o d.bin --force", 2, "is also an input");
    bench.fails_with("bench --seconds 0", 2, "--seconds 0: must be positive");
    bench.dataset("few.bin", gputexel::model::FeatureKind::Pst, 1000, 1);
    bench.fails_with("bench few.bin --device cpu", 2, "1000 positions: a benchmark needs at least 1024");
    bench.fails_with(["bench", "d.bin", "--device", "no such card"], 2, "no such adapter");
}

#[test]
#[ignore = "full"]
fn adapters_are_measured_by_their_own_clocks() {
    if gputexel::evaluator::gpu::list_adapters().iter().all(|adapter| adapter.unusable.is_some()) {
        return requirement::lack("gpu", "there is no adapter");
    }
    let bench = Bench::with_positions(1100, 2);
    let (text, err) = bench.done("bench d.bin --seconds 0.01");
    assert!(calm(&err).lines().all(|line| line.starts_with("measuring ")), "{err}");
    assert!(text.contains("loss, gradient"), "{text}");
    let (report, _) = measured(&bench, "d.bin --seconds 0.01 --device 0");
    let report: BenchReport = serde_json::from_value(report).unwrap();
    let device = &report.devices[0];
    assert_eq!((report.devices.len(), device.threads, &device.error), (1, None, &None));
    for cell in &device.cells {
        // Kernels take some of the time, and at most all of it.
        if let Some(kernels) = cell.device_seconds {
            assert!(kernels > 0.0 && kernels < 1.05 * cell.seconds + 1e-4, "{cell:?}");
        }
    }
}

fn tables() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/benchmarks");
    let mut reports = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).unwrap();
            let report: BenchReport =
                serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            reports.insert(path.file_stem().unwrap().to_string_lossy().into_owned(), report);
        }
    }
    let mut out = String::new();
    for (name, report) in reports {
        let _ = writeln!(
            out,
            "\n### {name}\n\n{}, {}, gputexel {}; {} positions of {:.1} entries, {} features. M pairs/s:\n",
            report.processor,
            report.system,
            report.version,
            report.positions,
            report.entries_per_position,
            report.features
        );
        let members: String = MEMBERS.iter().map(|members| format!(" {members} |")).collect();
        let _ =
            writeln!(out, "| device | computed |{members}\n| --- | --- |{}", " --- |".repeat(MEMBERS.len()));
        for device in &report.devices {
            let name = gputexel::devices::bench::name_of(device);
            for gradients in [false, true] {
                let _ = write!(out, "| {name} | {} |", if gradients { "loss, gradient" } else { "loss" });
                for cell in device.cells.iter().filter(|cell| cell.gradients == gradients) {
                    let _ = write!(out, " {:.0} |", cell.pairs_per_second * 1e-6);
                }
                out.push('\n');
            }
        }
    }
    out
}

#[test]
fn the_document_has_the_tables_of_all_reports() {
    const MARK: &str = "<!-- tables -->\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/benchmarks.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, _) = text.split_once(MARK).expect("the tables have a mark");
    let wanted = format!("{head}{MARK}{}", tables());
    if std::env::var("GPUTEXEL_BLESS").is_ok_and(|value| value == "1") {
        std::fs::write(&path, &wanted).unwrap();
    } else {
        assert!(text == wanted, "GPUTEXEL_BLESS=1 writes the tables of docs/benchmarks.md anew");
    }
}
