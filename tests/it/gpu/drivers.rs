//! The program on other drivers for Vulkan than that of the machine.

use crate::common::prelude::*;

/// Returns the manifest of SwiftShader, which comes with Chromium and Chrome.
fn swiftshader() -> Option<PathBuf> {
    let of_program = |name| requirement::find(name)?.canonicalize().ok()?.parent().map(Path::to_path_buf);
    let folders =
        ["chromium", "chromium-browser", "google-chrome", "chrome"].into_iter().filter_map(of_program);
    let usual = ["/usr/lib/chromium", "/usr/lib64/chromium-browser", "/opt/google/chrome"].map(PathBuf::from);
    let found =
        folders.chain(usual).map(|folder| folder.join("vk_swiftshader_icd.json")).find(|path| path.is_file());
    if found.is_none() {
        requirement::lack("swiftshader", "no Chromium has a vk_swiftshader_icd.json beside it");
    }
    found
}

/// Runs the program with one driver for Vulkan; returns standard output.
#[track_caller]
fn run(bench: &Bench, driver: &Path, args: impl Words) -> String {
    let output = assert_cmd::Command::cargo_bin("gputexel")
        .unwrap()
        .current_dir(bench.folder.path())
        .env("VK_DRIVER_FILES", driver)
        .env("VK_ICD_FILENAMES", driver)
        .env("XDG_STATE_HOME", bench.path("state"))
        .args(args.words())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert!(output.status.success(), "{:?}: {}", args.words(), text(output.stderr));
    text(output.stdout)
}

#[test]
#[ignore = "full"]
fn swiftshader_computes_what_the_cpu_computes() {
    let Some(driver) = swiftshader() else { return };
    let bench = Bench::with_positions(2000, 44);
    let adapters: Value = serde_json::from_str(&run(&bench, &driver, "devices --json")).unwrap();
    let adapters = adapters["adapters"].list();
    assert_eq!(adapters.len(), 1, "{adapters:?}");
    assert_has(adapters[0]["name"].str(), "SwiftShader");
    for (name, flags) in [
        ("adam", "tune -v d.bin --optimizer adam --epochs 20 --learning-rate 1,4 --prior-strength none"),
        // Before rounding can decide whether another step gains: losses do not include what is penalized.
        ("gauss-newton", "tune -v d.bin --optimizer gauss-newton --epochs 3 --l2 1e-3 --errors"),
        ("swarms", "pso d.bin --iterations 6 --particles 16 --swarms 2 --seed 5"),
    ] {
        let of = |backend: &str, name_of_it: &str| {
            let out = format!("{name}-{backend}");
            let told = run(&bench, &driver, (flags, &format!("--backend {backend} --out {out}")));
            let line = told.lines().find(|line| line.starts_with("backend ")).unwrap_or(&told);
            assert_has(line, name_of_it);
            bench.json(&format!("{out}/params.json"))
        };
        let [cpu, gpu] = [of("cpu", "CPU"), of("gpu", "SwiftShader")];
        let loss = |params: &Value| params["provenance"]["loss"].f64();
        let difference = (loss(&gpu) / loss(&cpu) - 1.0).abs();
        assert!(difference <= 1e-6, "{name}: {} and {}", loss(&cpu), loss(&gpu));
    }
}
