//! Checks of a device: a correct one passes, and every fault is reported.

use gputexel::devices::{Checker, Depth, Group};

use crate::common::gpu::context;

#[test]
#[ignore = "full"]
fn correct_device_passes_and_faults_are_reported_by_group() {
    let Some(context) = context() else { return };
    let sound = Checker::new(context, Depth::Brief).run().unwrap();
    assert_eq!((sound.fault(), &sound.broken), (None, &None), "{sound:?}");
    let covered: Vec<Group> = sound.findings.iter().map(|finding| finding.group).collect();
    assert_eq!(covered, Group::ALL, "the brief check has a case of every group");
    for finding in &sound.findings {
        assert!(finding.cases > 0 && finding.error <= finding.bound, "{finding:?}");
    }
    // One thousandth off, in one group after another.
    let wrong: [fn(Group) -> f64; 3] = [
        |group| if group == Group::Losses { 1.001 } else { 1.0 },
        |group| if group == Group::Matrices { 1.001 } else { 1.0 },
        |group| if group == Group::ResampledGames { 1.001 } else { 1.0 },
    ];
    for (expected, group) in wrong.into_iter().zip([Group::Losses, Group::Matrices, Group::ResampledGames]) {
        let report = Checker::new(context, Depth::Brief).expecting(expected).run().unwrap();
        let finding = report.findings.iter().find(|finding| finding.group == group).unwrap();
        let fault = finding.fault.as_ref().unwrap_or_else(|| panic!("{group:?}: {report:?}"));
        assert!(fault.contains("relative error") && finding.error > finding.bound, "{fault}");
        assert!(report.fault().is_some());
    }
}
