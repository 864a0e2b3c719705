//! Pages in headless Chromium that compute by WebGPU, on SwiftShader: they are served, and send back what they find.

use crate::common::prelude::*;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};

/// Time for pages to compute; a busy machine takes a hundredth of it for each.
const LIMIT: Duration = Duration::from_secs(900);

/// Opens the first page; returns what a page sends by `POST /found`, as JSON. Pages are named by their number: `/0`,
/// `/1` and so on.
pub fn found(chromium: &Path, pages: &[String]) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    let served = pages.to_vec();
    // Ends with the test's process; browsers open connections ahead, so each has a thread.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (served, sender) = (served.clone(), sender.clone());
            std::thread::spawn(move || answer(stream, &served, &sender));
        }
    });
    let profile = tempfile::tempdir().unwrap();
    let mut child = Command::new(chromium)
        .args(["--headless=new", "--no-sandbox", "--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--enable-unsafe-webgpu"])
        .args([
            "--use-webgpu-adapter=swiftshader",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("http://{address}/0"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let found = receiver.recv_timeout(LIMIT);
    child.kill().unwrap();
    child.wait().unwrap();
    let found: String = found.expect("the page does not end");
    serde_json::from_str(&found).unwrap_or_else(|error| panic!("{error}: {found}"))
}

fn answer(mut stream: TcpStream, pages: &[String], found: &Sender<String>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut request = String::new();
    if reader.read_line(&mut request).is_err() {
        return;
    }
    let mut length = 0;
    for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let page = path.parse().ok().and_then(|number: usize| pages.get(number));
    if path == "found" {
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let _ = found.send(String::from_utf8(body).unwrap());
    }
    let (status, page) = page.map_or(("404 Not Found", ""), |page| ("200 OK", page));
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
}
