//! `gputexel devices` through the real binary.

use crate::common::prelude::*;

#[test]
fn devices_prints_json() {
    let mut command = assert_cmd::Command::cargo_bin("gputexel").unwrap();
    let output = command.args(["devices", "--json"]).assert().success().get_output().stdout.clone();
    let value: serde_json::Value = serde_json::from_slice(&output).unwrap();
    let adapters = value["adapters"].list();
    // `auto` never chooses a software adapter.
    match value["choices"]["auto"]["adapter"].as_u64() {
        Some(index) => assert_eq!(adapters[index as usize]["software"], false),
        None => {
            let useless =
                |adapter: &serde_json::Value| adapter["software"] == true || adapter["unusable"].is_string();
            assert!(adapters.iter().all(useless));
        }
    }
    assert!(value["choices"]["gpu"]["reason"].is_string());
}

/// Checking every variant on a software adapter takes minutes, so this test uses only the file that a check writes.
#[test]
#[ignore = "full"]
fn rejects_devices_that_failed_a_check() {
    let bench = Bench::with_positions(300, 1);
    let summaries = gputexel::evaluator::gpu::list_adapters();
    let Some(adapter) = summaries.first() else {
        return requirement::lack("gpu", "there is no adapter");
    };
    let verdict = |version: &str| {
        serde_json::json!([{
            "device": {
                "adapter": adapter.name,
                "interface": adapter.backend,
                "driver": adapter.driver,
                "gputexel": version,
            },
            "depth": "thorough",
            "fault": "gradients: squared, tiles of 8: relative error 1.2e-3, at most 5e-5",
        }])
    };
    let run = |args: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("gputexel").unwrap();
        let state = bench.path("state");
        let output =
            command.current_dir(bench.path("")).env("XDG_STATE_HOME", state).args(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let tune = ["tune", "d.bin", "--backend", "gpu", "--epochs", "1", "--prior-strength", "none"];
    // Nothing is known, as after an upgrade: software adapters are not checked automatically.
    assert_eq!(run(&tune).0, 0);
    std::fs::create_dir_all(bench.path("state/gputexel")).unwrap();
    bench.write("state/gputexel/devices.json", verdict("0.0.1").to_string());
    assert_eq!(run(&tune).0, 0);
    bench.write("state/gputexel/devices.json", verdict(env!("CARGO_PKG_VERSION")).to_string());
    let (code, out, err) = run(&["bench", "--device", "0"]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert_one_line(&err);
    assert!(err.contains("is not measured") && err.contains("devices --check --device 0"), "{err}");
    let (code, out, _) = run(&["devices", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&out).unwrap();
    let taken = &listed["choices"]["gpu"];
    assert!(code == 0 && taken["adapter"].is_null(), "{out}");
    assert!(taken["reason"].str().contains("computes wrongly"), "{out}");
    let (code, _, err) = run(&tune);
    assert_eq!(code, 1, "{err}");
    assert_one_line(&err);
    for part in
        [&adapter.name[..], "computes wrongly", "gradients: squared", "devices --check", "--backend cpu"]
    {
        assert!(err.contains(part), "{part}: {err}");
    }
    // The CPU is not affected.
    assert_eq!(run(&["tune", "d.bin", "--backend", "cpu", "--epochs", "1", "--prior-strength", "none"]).0, 0);
}

#[test]
fn reports_missing_devices() {
    let bench = Bench::new();
    bench.fails_with(["devices", "--check", "--device", "no such card"], 2, "--device no such card: no ");
}
