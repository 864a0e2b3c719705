//! What is published: names that have to agree, and what every crate must have for it.

use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn archives_are_named_as_cargo_binstall_looks_for_them() {
    let tables = manifest::parse(&read("Cargo.toml"));
    let binstall = tables.at("package.metadata.binstall");
    let fill = |pattern: &str, target: &str, suffix: &str| {
        let pattern = pattern.replace("{ version }", "1.2.3").replace("{ target }", target);
        pattern
            .replace("{ archive-suffix }", suffix)
            .replace("{ bin }", "gputexel")
            .replace("{ binary-ext }", "")
    };
    let script = read("scripts/archive");
    assert!(script.contains("name=gputexel-$version-$target") && script.contains("archive=$out/$name.tgz"));
    assert!(script.contains("tar -C \"$work\" -czf \"$archive\" \"$name\""), "the folder in the archive");
    let url = fill(&binstall.text("pkg-url"), "x86_64-unknown-linux-gnu", ".tgz");
    assert_eq!(url, "{ repo }/releases/download/v1.2.3/gputexel-1.2.3-x86_64-unknown-linux-gnu.tgz");
    let inside = fill(&binstall.text("bin-dir"), "x86_64-unknown-linux-gnu", ".tgz");
    assert_eq!(inside, "gputexel-1.2.3-x86_64-unknown-linux-gnu/gputexel");
    assert_eq!(binstall.text("pkg-fmt"), "tgz");
    let windows = tables.at("package.metadata.binstall.overrides.x86_64-pc-windows-msvc");
    assert_eq!(windows.text("pkg-fmt"), "zip");
    assert!(script.contains("*windows*)\n    archive=$out/$name.zip"));
}

#[test]
fn the_release_is_made_by_the_script_that_everybody_can_run() {
    let workflow = read(".github/workflows/release.yml");
    assert!(workflow.contains("run: scripts/archive \"$TARGET\" archives"));
    assert!(workflow.contains("run: scripts/clean-room archives/gputexel-*.tgz"));
    assert!(workflow.contains("cargo package --workspace"));
    assert!(!workflow.contains("cargo build"), "built beside the script");
    #[cfg(unix)]
    for script in ["scripts/archive", "scripts/clean-room"] {
        use std::os::unix::fs::PermissionsExt as _;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
        assert!(path.metadata().unwrap().permissions().mode() & 0o111 != 0, "{script} cannot be run");
    }
}

/// Reading Cargo.toml: tables by their headings, texts by their keys.
mod manifest {
    use std::collections::BTreeMap;

    pub struct Table(BTreeMap<String, BTreeMap<String, String>>);

    pub struct Section(BTreeMap<String, String>);

    pub fn parse(text: &str) -> Table {
        let mut all: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let mut heading = String::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                heading = name.to_string();
            } else if let Some((key, value)) = line.split_once(" = ") {
                let value = value.trim_matches('"').to_string();
                all.entry(heading.clone()).or_default().insert(key.to_string(), value);
            }
        }
        Table(all)
    }

    impl Table {
        pub fn at(&self, heading: &str) -> Section {
            Section(self.0.get(heading).unwrap_or_else(|| panic!("no [{heading}]")).clone())
        }
    }

    impl Section {
        pub fn text(&self, key: &str) -> String {
            self.0.get(key).unwrap_or_else(|| panic!("no {key}")).clone()
        }
    }
}
