//! Published packages: names that must agree, and requirements of every crate.

use crate::common::prelude::*;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn archive_names_match_cargo_binstall() {
    let manifest = read("Cargo.toml");
    let name = "gputexel-{ version }-{ target }";
    for line in [
        format!("pkg-url = \"{{ repo }}/releases/download/v{{ version }}/{name}{{ archive-suffix }}\"\n"),
        format!("bin-dir = \"{name}/{{ bin }}{{ binary-ext }}\"\npkg-fmt = \"tgz\"\n"),
        "overrides.x86_64-pc-windows-msvc]\npkg-fmt = \"zip\"\n".to_string(),
    ] {
        assert!(manifest.contains(&line), "{line}");
    }
    let script = read("scripts/archive");
    assert!(script.contains("name=gputexel-$version-$target") && script.contains("archive=$out/$name.tgz"));
    assert!(script.contains("tar -C \"$work\" -czf \"$archive\" \"$name\""), "the folder in the archive");
    assert!(script.contains("*windows*)\n    archive=$out/$name.zip"));
}

#[test]
fn release_uses_the_public_script() {
    let workflow = read(".github/workflows/release.yml");
    assert_has(
        &workflow,
        [
            "run: scripts/archive \"$TARGET\" archives",
            "run: scripts/clean-room archives/gputexel-*.tgz",
            "cargo package --workspace",
        ],
    );
    assert!(!workflow.contains("cargo build"), "built beside the script");
    #[cfg(unix)]
    for script in ["scripts/archive", "scripts/clean-room"] {
        use std::os::unix::fs::PermissionsExt as _;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
        assert!(path.metadata().unwrap().permissions().mode() & 0o111 != 0, "{script} cannot be run");
    }
}
