//! A live page with impatient readers, which disconnect, send nothing or half a request, and read slowly.

use super::gauge::Gauge;
use crate::common::prelude::*;
use std::io::{Read, Write};

/// Simulates one reader; returns true if it received a whole page.
fn visit(address: &str, random: &mut Xoshiro256PlusPlus, held: &mut Vec<TcpStream>) -> bool {
    // If there are too many connections, some are refused, which counts as a response.
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    match random.random_range(0..6) {
        // Sends nothing, and stays for a while.
        0 => held.push(stream),
        // Sends half a request.
        1 => {
            let _ = stream.write_all(&request.as_bytes()[..request.len() / 2]);
            held.push(stream);
        }
        // Does not wait for the response.
        2 => drop(stream.write_all(request.as_bytes())),
        // Reads a little and disconnects.
        3 => {
            let _ = stream.write_all(request.as_bytes());
            let _ = stream.read(&mut [0; 100]);
        }
        // Sends garbage.
        4 => {
            let noise: Vec<u8> = (0..500).map(|_| random.random_range(0..=255)).collect();
            let _ = stream.write_all(&noise);
        }
        _ => {
            let mut text = String::new();
            let sent = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_string(&mut text));
            return sent.is_ok() && text.starts_with("HTTP/1.1 200") && text.contains("</html>");
        }
    }
    if held.len() > 100 {
        held.drain(..50);
    }
    false
}

#[test]
#[ignore = "full"]
fn impatient_readers_do_not_affect_a_run() {
    let bench = Bench::with_positions(3000, 7);
    // Longer than anybody waits.
    let tune = "tune d.bin --l2 1e-4 --optimizer adam --learning-rate 0.01";
    let endless = ["--epochs", "100000000", "--improvement", "0", "--backend", "cpu", "--threads", "1"];
    let mut run = bench.spawn((tune, (&endless, "--live --out r")));
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let address = lines.by_ref().find_map(|line| {
        let line = line.unwrap();
        let rest = line.strip_prefix("live        http://")?;
        Some(rest.trim_end_matches('/').to_string())
    });
    let address = address.expect("the address is told");
    // Its output must not fill the pipe.
    let said = std::thread::spawn(move || lines.map_while(Result::ok).count());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let (mut visits, mut pages, mut held) = (0u64, 0u64, Vec::new());
    let mut gauge = Gauge::new(run.id());
    while gauge.goes_on() {
        assert!(run.try_wait().unwrap().is_none(), "the run has ended");
        visits += 1;
        pages += u64::from(visit(&address, &mut random, &mut held));
        if visits.is_multiple_of(20) {
            gauge.read();
        }
    }
    drop(held);
    eprintln!("readers: {visits} visits, {pages} pages");
    assert!(pages > visits / 50, "only {pages} pages in {visits} visits");
    std::process::Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    let status = run.wait().unwrap();
    assert_eq!(status.code(), Some(1), "{status}");
    said.join().unwrap();
    gauge.check("readers");
    assert!(bench.path("r/checkpoint.safetensors").exists() && bench.path("r/so-far.json").exists());
}
