//! What installs a release, tried on one whose programs are scripts.

use crate::common::prelude::*;
use std::io::{Read as _, Write as _};
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const VERSION: &str = env!("CARGO_PKG_VERSION");
const TARGETS: [&str; 6] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

/// Writes a file that can be run. Another process writes it: a file that this one has open while any thread starts a
/// process could not be run for a moment.
fn script(path: &Path, text: &str) {
    let write = "mkdir -p \"${0%/*}\" && printf %s \"$1\" >\"$0\" && chmod 755 \"$0\"";
    told(Command::new("sh").args(["-c", write]).arg(path).arg(text));
}

fn output(command: &mut Command) -> (i32, String, String) {
    let out = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
}

#[track_caller]
fn told(command: &mut Command) -> String {
    let (code, said, told) = output(command);
    assert_eq!(code, 0, "{command:?}: {said}{told}");
    said
}

fn repository() -> String {
    let manifest = std::fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).unwrap();
    let declared = manifest.lines().find_map(|line| line.strip_prefix("repository = ")).unwrap();
    declared.trim_matches('"').to_string()
}

fn archive(target: &str) -> String {
    let suffix = if target.contains("windows") { "zip" } else { "tgz" };
    format!("gputexel-{VERSION}-{target}.{suffix}")
}

/// The folder `release` with archives as scripts/archive packs them. Their programs say for which target they are.
fn release() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("release")).unwrap();
    for target in TARGETS {
        let name = format!("gputexel-{VERSION}-{target}");
        let program = format!("#!/bin/sh\necho gputexel {VERSION} for {target}\n");
        script(&bench.path(&format!("{name}/gputexel")), &program);
        bench.write(&format!("{name}/README.md"), "");
        let tar = ["-czf", &format!("release/{}", archive(target)), &name];
        told(Command::new("tar").args(tar).current_dir(bench.folder.path()));
    }
    sums(&bench);
    bench
}

fn sums(bench: &Bench) {
    let sums = "{ sha256sum gputexel* || shasum -a 256 gputexel*; } 2>/dev/null >SHA256SUMS";
    told(Command::new("sh").args(["-c", sums]).current_dir(bench.path("release")));
}

/// Serves the files of a folder, one request at a time, while the tests run; returns the address.
fn serve(folder: PathBuf) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                request.push(byte[0]);
            }
            let request = String::from_utf8_lossy(&request);
            let file = request.split(' ').nth(1).and_then(|path| path.strip_prefix('/')).unwrap_or("");
            let (status, body) = match std::fs::read(folder.join(file)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    address
}

/// A machine as install.sh sees it: all that is in its PATH.
fn machine(bench: &Bench, system: &str, libc: &str, downloader: &str) {
    let _ = std::fs::remove_dir_all(bench.path("bin"));
    script(
        &bench.path("bin/uname"),
        &format!("#!/bin/sh\nset -- $1 {system}\n[ $1 = -s ] && echo $2 || echo $3\n"),
    );
    script(&bench.path("bin/getconf"), &format!("#!/bin/sh\n[ -n '{libc}' ] && echo '{libc}'\n"));
    let tools = "sh grep wc tar gzip mkdir mktemp mv rm sha256sum shasum perl";
    for tool in tools.split(' ').chain([downloader]) {
        if let Some(path) = requirement::find(tool) {
            std::os::unix::fs::symlink(path, bench.path(&format!("bin/{tool}"))).unwrap();
        }
    }
}

fn install(bench: &Bench, options: &[&str]) -> (i32, String, String) {
    let sh = Path::new("/bin/sh");
    output(
        Command::new(sh)
            .arg(Path::new(ROOT).join("scripts/install.sh"))
            .args(options)
            .current_dir(bench.folder.path())
            .env_clear()
            .env("PATH", bench.path("bin"))
            .env("HOME", bench.path("home")),
    )
}

const LINUX: &str = "Linux x86_64";
const GLIBC: &str = "glibc 2.36";

#[test]
fn install_script_puts_the_program_of_the_platform_where_it_is_told() {
    if !requirement::program("curl") {
        return;
    }
    let bench = release();
    let from = serve(bench.path("release"));
    for (system, libc, target) in [
        (LINUX, GLIBC, TARGETS[0]),
        (LINUX, "glibc 2.28", TARGETS[0]),
        (LINUX, "glibc 2.27", TARGETS[2]),
        (LINUX, "", TARGETS[2]),
        ("Linux aarch64", "glibc 2.41.9000", TARGETS[1]),
        ("Darwin x86_64", "", TARGETS[3]),
        ("Darwin arm64", "", TARGETS[4]),
    ] {
        machine(&bench, system, libc, "curl");
        let (code, said, told) = install(&bench, &["--from", &from]);
        assert_eq!(code, 0, "{system} {libc}: {told}");
        let folder = bench.path("home/.local/bin");
        assert_has(
            &said,
            [&*format!("gputexel {VERSION} for {target} is in {}", folder.display()), "export PATH="],
        );
        assert_eq!(told.lines().count(), usize::from(target == TARGETS[2]), "{told}");
        // Installed again over the last one, with nothing beside it.
        let files: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(files, ["gputexel"]);
        let (_, version, _) = output(Command::new(folder.join("gputexel")).arg("--version"));
        assert_eq!(version, format!("gputexel {VERSION} for {target}\n"));
    }
}

#[test]
fn install_script_downloads_by_wget_where_there_is_no_curl() {
    if !requirement::program("wget") {
        return;
    }
    let bench = release();
    let from = serve(bench.path("release"));
    machine(&bench, LINUX, GLIBC, "wget");
    // In PATH, so that nothing has to be said about it.
    let (code, said, told) = install(&bench, &["--to", "bin", "--from", &format!("{from}/")]);
    assert_eq!((code, &*told), (0, ""));
    assert!(!said.contains("export PATH="), "{said}");
    assert!(bench.path("bin/gputexel").is_file());
}

#[test]
fn install_script_refuses_what_is_wrong_and_leaves_nothing() {
    if !requirement::program("curl") {
        return;
    }
    let bench = release();
    let from = serve(bench.path("release"));
    let refused = |options: &[&str], code: i32, reason: &str| {
        let (exit, said, told) = install(&bench, options);
        assert_eq!(exit, code, "{reason}: {said}{told}");
        assert!(told.lines().last().unwrap().contains(reason), "{reason}: {told}");
        let kept = std::fs::read_dir(bench.path("to")).map_or(0, Iterator::count);
        assert_eq!(kept, 0, "{reason}");
    };
    let usual = ["--to", "to", "--from", &from];
    machine(&bench, LINUX, GLIBC, "curl");
    refused(&["--prefix", "to"], 2, "usage: install.sh");
    refused(&["--to"], 2, "usage: install.sh");
    refused(&["--to", "to", "--from", &format!("{from}/v9")], 1, "/v9/SHA256SUMS cannot be downloaded");
    refused(&["--to", "release/SHA256SUMS", "--from", &from], 1, "cannot be made");

    let path = format!("release/{}", archive(TARGETS[0]));
    let whole = bench.bytes(&path);
    bench.write(&path, &whole[..whole.len() - 1]);
    refused(&usual, 1, "does not have the checksum of SHA256SUMS");
    sums(&bench);
    refused(&usual, 1, "cannot be unpacked");
    // A program of another system, or damaged before it was packed.
    let name = format!("gputexel-{VERSION}-{}", TARGETS[0]);
    script(&bench.path(&format!("{name}/gputexel")), "#!/bin/sh\nexit 1\n");
    let tar = ["-czf", &path, &name];
    told(Command::new("tar").args(tar).current_dir(bench.folder.path()));
    sums(&bench);
    refused(&usual, 1, "does not run here");

    let all = bench.text("release/SHA256SUMS");
    let line = all.lines().find(|line| line.ends_with(&archive(TARGETS[0]))).unwrap();
    bench.write("release/SHA256SUMS", format!("{line}\n{}\n", line.replace(VERSION, "9.9.9")));
    refused(&usual, 1, "more than one archive");
    // Names of files are not taken from anywhere else.
    bench.write("release/SHA256SUMS", line.replace("  gputexel", "  ../gputexel"));
    refused(&usual, 1, "has no archive for x86_64-unknown-linux-gnu");

    machine(&bench, "Linux riscv64", GLIBC, "curl");
    refused(&usual, 1, "there is no program for Linux riscv64");
    machine(&bench, "Linux aarch64", "", "curl");
    refused(&usual, 1, "needs glibc 2.28 or newer");
    machine(&bench, LINUX, GLIBC, "neither");
    refused(&usual, 1, "curl or wget is needed");
}

/// The real files that maturin packs, with the program of these tests in place of one that it would have Cargo build.
#[test]
#[ignore = "full"]
fn a_wheel_installs_the_program_into_an_empty_environment() {
    if !requirement::program("maturin") || !requirement::program("python3") {
        return;
    }
    let bench = Bench::new();
    let cargo = requirement::find("cargo").unwrap();
    // Maturin takes the program away for a while, which other tests run: it gets a copy.
    let program = bench.path("gputexel");
    std::fs::copy(env!("CARGO_BIN_EXE_gputexel"), &program).unwrap();
    let id =
        told(Command::new(&cargo).args(["pkgid", "--offline", "--package", "gputexel"]).current_dir(ROOT));
    let built = json!({
        "reason": "compiler-artifact",
        "package_id": id.trim_end(),
        "manifest_path": format!("{ROOT}/Cargo.toml"),
        "target": {
            "kind": ["bin"],
            "crate_types": ["bin"],
            "name": "gputexel",
            "src_path": format!("{ROOT}/src/main.rs"),
            "edition": "2024",
        },
        "profile": {
            "opt_level": "3",
            "debuginfo": 0,
            "debug_assertions": false,
            "overflow_checks": false,
            "test": false,
        },
        "features": [],
        "filenames": [program],
        "executable": program,
        "fresh": true,
    });
    let shim = format!(
        "#!/bin/sh\n[ \"$1\" = rustc ] || exec '{}' \"$@\"\ncat <<'END'\n{built}\nEND\n",
        cargo.display()
    );
    script(&bench.path("bin/cargo"), &shim);
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    let wheel = Path::new(ROOT).join("scripts/wheel");
    told(
        Command::new(wheel)
            .arg(bench.path("wheels"))
            .env("PATH", path)
            .env("CARGO", bench.path("bin/cargo"))
            .env("CARGO_TARGET_DIR", bench.path("target")),
    );
    let wheels: Vec<PathBuf> =
        std::fs::read_dir(bench.path("wheels")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(wheels.len(), 1, "{wheels:?}");
    let name = wheels[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("gputexel-") && name.contains("-py3-none-"), "{name}");

    told(Command::new("python3").args(["-m", "venv"]).arg(bench.path("venv")));
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"];
    told(Command::new(bench.path("venv/bin/python")).args(pip).arg(&wheels[0]));
    let version = told(Command::new(bench.path("venv/bin/gputexel")).arg("--version"));
    assert!(version.starts_with(&format!("gputexel {VERSION}")), "{version}");
    let show = ["-c", "import importlib.metadata as m; print(*m.metadata('gputexel').items(), sep='\\n')"];
    let metadata = told(Command::new(bench.path("venv/bin/python")).args(show));
    assert_has(&metadata, ["GPL-3.0-or-later", "uvx gputexel", &*repository()]);
}

#[test]
#[ignore = "full"]
fn install_script_for_windows_refuses_a_wrong_checksum() {
    if !requirement::program("pwsh") {
        return;
    }
    let bench = release();
    let name = format!("gputexel-{VERSION}-{}", TARGETS[5]);
    bench.write(&format!("{name}/gputexel.exe"), "a program");
    let zip = format!("Compress-Archive -Force {name} release/{name}.zip");
    let (code, _, told) =
        output(Command::new("pwsh").args(["-NoProfile", "-Command", &zip]).current_dir(bench.folder.path()));
    assert_eq!(code, 0, "{told}");
    let from = serve(bench.path("release"));
    let install = || {
        let script = Path::new(ROOT).join("scripts/install.ps1");
        let mut command = Command::new("pwsh");
        command.args(["-NoProfile", "-File"]).arg(script).args(["-From", &from, "-To"]);
        output(command.arg(bench.path("to")))
    };
    let (code, said, told) = install();
    assert_ne!(code, 0, "{said}");
    assert_has(&told, ["checksum"]);
    assert!(!bench.path("to").exists());
    sums(&bench);
    let (code, said, told) = install();
    assert_eq!(code, 0, "{told}");
    assert_has(&said, ["is in", "SetEnvironmentVariable"]);
    assert_eq!(bench.bytes("to/gputexel.exe"), b"a program");
}
