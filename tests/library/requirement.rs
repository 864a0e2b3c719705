//! What tests may lack, and when they must not.

use crate::common::requirement::{NAMES, Switches};

#[test]
fn what_is_asked_for_is_required() {
    let switches = |all: &str, gpu: &str, list: &str| {
        let set = |value: &str| (!value.is_empty()).then(|| value.to_string());
        Switches { all: set(all), gpu: set(gpu), list: set(list) }
    };
    let required = |switches: &Switches| -> Vec<&str> {
        NAMES.into_iter().filter(|name| switches.require(name).unwrap()).collect()
    };
    assert!(required(&switches("", "", "")).is_empty());
    assert!(required(&switches("0", "0", " , ")).is_empty());
    assert_eq!(required(&switches("1", "", "")), NAMES);
    assert_eq!(required(&switches("", "1", "")), ["gpu"]);
    assert_eq!(required(&switches("", "", "python, g++")), ["g++", "python"]);
    assert_eq!(required(&switches("", "1", "data")), ["gpu", "data"]);
    // A word that nobody knows would require nothing.
    let error = switches("1", "", "g++,pyhton").require("gpu").unwrap_err();
    assert!(error.starts_with("GPUTEXEL_REQUIRE: 'pyhton' is none of gpu, "), "{error}");
}
