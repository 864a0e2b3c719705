//! Published packages: names that must agree, what crates contain, and what installs releases.

use super::structure::packages;
use crate::common::prelude::*;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
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
            "scripts/archive \"$TARGET\" archives\n",
            "scripts/wheel archives \"$TARGET\"\n",
            "cp scripts/install.sh scripts/install.ps1 archives\n",
            "cargo package --workspace",
        ],
    );
    assert!(!workflow.contains("cargo build"), "built beside the script");
    #[cfg(unix)]
    for script in ["scripts/archive", "scripts/wheel"] {
        use std::os::unix::fs::PermissionsExt as _;
        let path = Path::new(ROOT).join(script);
        assert!(path.metadata().unwrap().permissions().mode() & 0o111 != 0, "{script} cannot be run");
    }
}

/// `repository` in Cargo.toml says who the owner is; links and commands to copy have to name the same.
#[test]
fn all_addresses_name_the_owner_of_the_manifest() {
    let manifest = read("Cargo.toml");
    let repository = manifest.lines().find_map(|line| line.strip_prefix("repository = ")).unwrap();
    let home = repository.trim_matches('"').strip_prefix("https://github.com/").unwrap();
    let address =
        regex::Regex::new(r"(?:github\.com|githubusercontent\.com|ghcr\.io)/([\w.-]+/gputexel)\b").unwrap();
    let mut folders = vec![PathBuf::from(ROOT)];
    let mut named = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_str().unwrap();
            if entry.is_dir() {
                let sources = ["docs", "scripts", "crates", "src", "shaders", "examples", "data", ".github"];
                let inner = entry.parent() != Some(Path::new(ROOT));
                if inner && name != "tests" || sources.contains(&name) {
                    folders.push(entry);
                }
            } else if let Ok(text) = std::fs::read_to_string(&entry) {
                for found in address.captures_iter(&text) {
                    assert_eq!(&found[1], home, "{}", entry.display());
                    named.insert(name.to_string());
                }
            }
        }
    }
    for name in ["install.sh", "install.ps1", "CITATION.cff", "SECURITY.md"] {
        assert!(named.contains(name), "{name} names no address");
    }
}

#[test]
fn crates_contain_what_they_are_built_of_and_no_tests() {
    let embedded = regex::Regex::new(r#"include_(?:str|bytes)!\(\s*"([^"]+)"\s*\)"#).unwrap();
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    for package in packages().iter().filter(|package| package["name"] != "gputexel-fuzz-targets") {
        let name = package["name"].str();
        let asked = ["package", "--list", "--offline", "--allow-dirty", "--quiet", "--package", name];
        let out = std::process::Command::new(&cargo).args(asked).current_dir(ROOT).output().unwrap();
        assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
        let list = String::from_utf8(out.stdout).unwrap();
        let files: BTreeSet<PathBuf> = list.lines().map(PathBuf::from).collect();
        let root = Path::new(package["manifest_path"].str()).parent().unwrap();
        let mut bytes = 0;
        for file in &files {
            assert!(!file.starts_with("tests") && !file.starts_with("benches"), "{name}: {}", file.display());
            // Cargo.toml.orig and the like are written by Cargo.
            let Ok(content) = std::fs::read(root.join(file)) else { continue };
            bytes += content.len();
            let text = String::from_utf8_lossy(&content);
            for found in embedded.captures_iter(&text).filter(|_| file.extension().is_some_and(|e| e == "rs"))
            {
                let path = file.parent().unwrap().join(&found[1]);
                let path = root.join(path).canonicalize().unwrap();
                let inside = path.strip_prefix(root.canonicalize().unwrap()).unwrap();
                assert!(files.contains(inside), "{name}: {} needs {}", file.display(), inside.display());
            }
        }
        assert!(bytes < 2_500_000, "{name}: {bytes} bytes");
        assert!(files.len() < 250, "{name}: {} files", files.len());
    }
}
