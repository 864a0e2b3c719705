//! `gputexel devices` through the real binary.

use predicates::prelude::*;

#[test]
fn devices_says_what_each_choice_takes() {
    let mut command = assert_cmd::Command::cargo_bin("gputexel").unwrap();
    let says =
        predicate::str::contains("--backend auto uses").and(predicate::str::contains("--backend gpu uses"));
    command.arg("devices").assert().success().stdout(says);
}

#[test]
fn devices_prints_json() {
    let mut command = assert_cmd::Command::cargo_bin("gputexel").unwrap();
    let output = command.args(["devices", "--json"]).assert().success().get_output().stdout.clone();
    let value: serde_json::Value = serde_json::from_slice(&output).unwrap();
    let adapters = value["adapters"].as_array().unwrap();
    // A software adapter is never what `auto` takes.
    match value["choices"]["auto"]["adapter"].as_u64() {
        Some(index) => assert_eq!(adapters[index as usize]["software"], false),
        None => assert!(adapters.iter().all(|adapter| adapter["software"] == true)),
    }
    assert!(value["choices"]["gpu"]["reason"].is_string());
}
