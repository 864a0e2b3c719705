//! `gputexel serve` through the real binary.

use crate::common::prelude::*;
use std::io::{Read, Write};

/// Returns the port on which a command serves, from a line that starts with `word`.
fn port(child: &mut Child, word: &str) -> u16 {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with(word) {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "no address");
    }
    std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    let (_, address) = line.split_once("http://127.0.0.1:").unwrap();
    address.trim_end().trim_end_matches('/').parse().unwrap()
}

fn ask(port: u16, request: &str, host: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nConnection: close\r\nHost: {host}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn serves_only_runs_of_the_folder() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 2000, 7);
    bench.tune("d.bin --out runs/<script>x");
    bench.run("match material zero --nodes 20 --games 12 --out runs/deep/m");
    std::os::unix::fs::symlink("/etc", bench.path("runs/link")).unwrap();
    std::fs::create_dir(bench.path("runs/bad")).unwrap();
    bench.write("runs/bad/run.json", "{");
    bench.write("secret.txt", "secret");
    let mut child = bench.spawn("serve runs");
    let port = port(&mut child, "serving ");
    let own = format!("127.0.0.1:{port}");
    let get = |path: &str| ask(port, &format!("GET {path}"), &own).unwrap();

    let list = get("/");
    assert!(list.starts_with("HTTP/1.1 200 OK") && list.contains("href=\"/run/%3Cscript%3Ex/\""), "{list}");
    assert!(list.contains("href=\"/run/deep/m/\"") && list.contains(">damaged<"), "{list}");
    assert!(!list.contains("<script>x") && !list.contains("/run/link"), "{list}");
    let page = get("/run/%3Cscript%3Ex/");
    assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains(">finished<"), "{page}");
    assert!(!page.contains("<script>x") && page.contains("Calibration"), "{page}");
    assert!(get("/run/deep/m/").contains("Elo over games"));
    assert!(get("/run/bad/").starts_with("HTTP/1.1 503 "));
    for path in
        ["/run/link/", "/run/../secret.txt", "/run/%2e%2e/", "/run/deep/", "/secret.txt", "/run/link/passwd"]
    {
        let answer = get(path);
        assert!(answer.starts_with("HTTP/1.1 404 ") && !answer.contains("secret"), "{path}: {answer}");
    }
    assert!(ask(port, "GET /", "evil.example").unwrap().starts_with("HTTP/1.1 421 "));
    assert!(ask(port, "DELETE /", &own).unwrap().starts_with("HTTP/1.1 405 "));

    // A run that starts now is followed to its end.
    let long = "--backend cpu --threads=1 --optimizer adam --k 0.8 --epochs 1000000 --prior-strength none";
    let flags = ["--checkpoint-every", "0.2", "--improvement", "0", "-q"];
    let mut run = bench.spawn(("tune d.bin --out runs/new", (long, &flags)));
    wait_until("the list shows the run", || get("/").contains("tag open\">running<"));
    wait_until("the page shows the run", || {
        let page = get("/run/new/");
        page.contains(">running<") && page.contains(" of at most 1,000,000 epochs")
    });
    bench.shell(&format!("kill -INT {}", run.id()));
    assert_eq!(run.wait().unwrap().code(), Some(1));
    wait_until("the list shows its end", || !get("/").contains("tag open\">running<"));
    assert!(get("/run/new/").contains("; interrupted before the end"));

    bench.shell(&format!("kill -INT {}", child.id()));
    assert_eq!(child.wait().unwrap().code(), Some(0), "Ctrl-C is how it ends");
    assert!(ask(port, "GET /", &own).is_none());
}

#[test]
#[ignore = "full"]
fn reports_unservable_folders() {
    let bench = Bench::new();
    bench.write("file", "x");
    bench.fails_with("serve none", 1, "none");
    bench.fails_with("serve file", 1, "is not a folder");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    bench.fails_with(["serve", ".", "--port", &port], 1, "cannot listen on 127.0.0.1:");
}
