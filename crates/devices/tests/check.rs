//! Checks of a device: a sound one passes, and whatever is wrong with one is told.

use std::io::Write as _;

use gputexel_devices::{Checker, Depth, Group};
use gputexel_gpu::GpuContext;

/// A device, if there is one; a software adapter will do.
fn context() -> Option<GpuContext> {
    match GpuContext::with_default_limits(true) {
        Ok(context) => Some(context),
        Err(error) => {
            let switches = ["GPUTEXEL_REQUIRE_GPU", "GPUTEXEL_REQUIRE_ALL", "GPUTEXEL_REQUIRE"];
            let asked = |name| {
                std::env::var(name).is_ok_and(|v| v == "1" || v.split(',').any(|item| item.trim() == "gpu"))
            };
            assert!(!switches.into_iter().any(asked), "{error}");
            // Past the harness, which shows what is printed of failed tests alone.
            let _ = writeln!(std::io::stderr(), "SKIPPED: no gpu: {error}");
            None
        }
    }
}

#[test]
fn a_sound_device_passes_and_a_wrong_one_is_told_apart_group_by_group() {
    let Some(context) = context() else { return };
    let sound = Checker::new(&context, Depth::Brief).run().unwrap();
    assert_eq!((sound.fault(), &sound.broken), (None, &None), "{sound:?}");
    let covered: Vec<Group> = sound.findings.iter().map(|finding| finding.group).collect();
    assert_eq!(covered, Group::ALL, "the brief check has a case of every group");
    for finding in &sound.findings {
        assert!(finding.cases > 0 && finding.error <= finding.bound, "{finding:?}");
    }
    // One thousandth off, in one group after the other.
    let wrong: [fn(Group) -> f64; 3] = [
        |group| if group == Group::Losses { 1.001 } else { 1.0 },
        |group| if group == Group::Matrices { 1.001 } else { 1.0 },
        |group| if group == Group::ResampledGames { 1.001 } else { 1.0 },
    ];
    for (expected, group) in wrong.into_iter().zip([Group::Losses, Group::Matrices, Group::ResampledGames]) {
        let report = Checker::new(&context, Depth::Brief).expecting(expected).run().unwrap();
        let finding = report.findings.iter().find(|finding| finding.group == group).unwrap();
        let fault = finding.fault.as_ref().unwrap_or_else(|| panic!("{group:?}: {report:?}"));
        assert!(fault.contains("relative error") && finding.error > finding.bound, "{fault}");
        assert!(report.fault().is_some());
    }
}

#[test]
#[ignore = "takes minutes on a software adapter; `gputexel devices --check` is the same"]
fn every_variant_agrees_with_f64() {
    let Some(context) = context() else { return };
    let report = Checker::new(&context, Depth::Thorough).run().unwrap();
    for finding in &report.findings {
        eprintln!(
            "{:24} {:5} {:.2e} of {:.0e}",
            finding.group.name(),
            finding.cases,
            finding.error,
            finding.bound
        );
    }
    eprintln!("{:.1} s", report.seconds);
    assert_eq!(report.fault(), None);
}
