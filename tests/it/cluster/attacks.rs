//! Hostile messages are refused, counted and named, and change nothing.

use super::runs::timeless;
use super::server::{Process, Raw, Server};
use crate::common::prelude::*;

/// Server configuration from the documentation, with users and permissions.
fn documented() -> String {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/cluster.md")).unwrap();
    let (_, rest) = text.split_once("```text\n").unwrap();
    rest.split_once("```").unwrap().0.to_string()
}

#[test]
fn ignores_forged_and_invalid_messages() {
    let bench = Bench::new();
    let Some(server) = Server::start(&bench, "") else { return };
    let url = server.url();
    let games = ["match", "material", "zero", "--nodes", "600", "--games", "40"];
    bench.told((&games, "--out here"));
    let run = Process::start(&bench, (&games, &["--out", "there", "--queue", &url]));
    crate::common::program::wait_until("the run is in the queue", || bench.path("there/queue.json").exists());
    let identity = bench.json("there/queue.json");
    let name = identity["run"].str();
    let subject = format!("gputexel.result.{name}");

    // An attacker who knows everything but tickets: each message claims to be the result of an outstanding pair.
    let mut raw = Raw::connect(server.port, "");
    let pair = |number: u64, ticket: &str| {
        let game = "{\"moves\":[],\"result\":\"1-0\",\"end\":\"died\",\"failure\":\"died\"}";
        format!(
            "{{\"format\":\"gputexel-cluster-1\",\"run\":\"{name}\",\"number\":{number},\"ticket\":\"{ticket}\",\
             \"digest\":\"{:032x}\",\"worker\":\"mallory\\u001b[2J\",\"content\":{{\"games\":[{game},{game}]}}}}",
            number * 7
        )
    };
    for i in 0..10_000u64 {
        raw.publish(&subject, pair(i % 20, &format!("{i:032x}")).as_bytes());
    }
    let rubbish: [&[u8]; 6] = [b"", b"{}", b"\xff\xfe\x00", b"[[[[[[[[", b"null", &[b'['; 20_000]];
    for text in rubbish {
        for place in [
            &subject,
            "gputexel.result.x",
            "gputexel.work.x.1",
            "gputexel.end.x",
            "gputexel",
            "$JS.ACK.GPUTEXEL_WORK.workers.1.1.1.1.0",
        ] {
            raw.publish(place, text);
        }
    }
    raw.publish(
        &format!("gputexel.work.{name}.7000"),
        b"{\"format\":\"gputexel-cluster-1\",\"run\":\"/etc\"}",
    );
    raw.flush();

    let workers: Vec<_> = ["one", "two"].iter().map(|name| Process::worker(&bench, &url, name)).collect();
    let (code, _, err) = run.finish();
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(timeless(&bench, "there/match.jsonl"), timeless(&bench, "here/match.jsonl"));
    assert!(err.contains("10000 forged (10000 from 'mallory"), "{err}");
    assert!(err.contains("6 unreadable") && !err.contains('\u{1b}'), "{err}");
    // Each kind is reported the first time it occurs.
    assert_eq!(err.matches("was refused").count(), 2, "{err}");
    let mut unreadable = 0;
    for worker in workers {
        let (code, out, err) = worker.interrupt();
        assert_eq!(code, Some(0), "{err}");
        let count = out.split(", ").find_map(|part| part.trim().strip_suffix(" unreadable"));
        unreadable += count.map_or(0, |count| count.parse::<u64>().unwrap());
    }
    assert_eq!(unreadable, 7);
}

#[test]
fn rejects_impossible_games_from_workers() {
    let bench = Bench::new();
    let Some(server) = Server::start(&bench, "") else { return };
    let url = server.url();
    let games = ["match", "material", "zero", "--nodes", "60", "--games", "4"];
    bench.told((&games, "--out here"));
    // Takes work as a worker does, and shortens the game.
    let mut raw = Raw::connect(server.port, "");
    raw.send(b"SUB liar 1\r\n");
    let run = Process::start(&bench, (&games, &["--out", "there", "--queue", &url, "--queue-lease", "1"]));
    crate::common::program::wait_until("the run is in the queue", || bench.path("there/queue.json").exists());
    raw.send(b"PUB $JS.API.CONSUMER.MSG.NEXT.GPUTEXEL_WORK.workers liar 2\r\n{}\r\n");
    // It may ask before a consumer exists.
    std::thread::sleep(std::time::Duration::from_millis(500));
    raw.send(b"PUB $JS.API.CONSUMER.MSG.NEXT.GPUTEXEL_WORK.workers liar 2\r\n{}\r\n");
    let work: serde_json::Value = loop {
        let (_, payload) = raw.message();
        match serde_json::from_slice::<serde_json::Value>(&payload) {
            Ok(work) if work["ticket"].is_string() => break work,
            _ => {}
        }
    };
    // The digest is the one that the server's worker would compute; a real worker sends it along.
    let worker = Process::worker(&bench, &url, "honest");
    let run_name = work["run"].str();
    let digest = blake3_of(&work["task"]);
    for game in [
        "{\"moves\":[],\"result\":\"1-0\",\"end\":\"checkmate\"}",
        "{\"moves\":[[\"a1a8\",null,null,null,1]],\"result\":\"1-0\",\"end\":\"checkmate\"}",
        "{\"moves\":[],\"result\":\"1/2-1/2\",\"end\":\"adjudicated-draw\"}",
        "{\"moves\":[],\"result\":\"1-0\",\"end\":\"time-forfeit\",\"failure\":\"slow\"}",
    ] {
        let answer = format!(
            "{{\"format\":\"gputexel-cluster-1\",\"run\":\"{run_name}\",\"number\":{},\"ticket\":{},\"digest\":\"{digest}\",\
             \"worker\":\"liar\",\"content\":{{\"games\":[{game},{game}]}}}}",
            work["number"], work["ticket"]
        );
        raw.publish(&format!("gputexel.result.{run_name}"), answer.as_bytes());
    }
    raw.flush();
    let (code, _, err) = run.finish();
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("4 with impossible games (4 from 'liar')"), "{err}");
    assert_eq!(timeless(&bench, "there/match.jsonl"), timeless(&bench, "here/match.jsonl"));
    drop(worker);
}

/// Returns 32 digits of the hash of a task as it was sent.
fn blake3_of(task: &serde_json::Value) -> String {
    blake3::hash(task.to_string().as_bytes()).to_hex()[..32].to_string()
}

#[test]
fn documented_permissions_are_minimal() {
    let bench = Bench::new();
    let Some(server) = Server::start(&bench, &documented()) else { return };
    let port = server.port;
    let [coordinator, worker] = ["coordinator:change-me", "attic:change-me-too"]
        .map(|user| format!("nats://{user}@127.0.0.1:{port}"));
    let player = Process::worker(&bench, &worker, "attic");
    let games = ["match", "material", "zero", "--nodes", "60", "--games", "4", "--out", "m"];
    let told = bench.told((&games, &["--queue", &coordinator]));
    assert_eq!(told["games"], 4);
    assert_eq!(player.interrupt().0, Some(0));
    // A worker cannot be a coordinator.
    let mut raw = Raw::connect(port, ",\"user\":\"attic\",\"pass\":\"change-me-too\"");
    for subject in [
        "$JS.API.STREAM.MSG.GET.GPUTEXEL_WORK",
        "$JS.API.STREAM.PURGE.GPUTEXEL_WORK",
        "gputexel.work.x.1",
        "gputexel.end.x",
    ] {
        raw.publish(subject, b"");
        let refused = raw.refusal();
        assert!(refused.contains("Permissions Violation for Publish"), "{subject}: {refused}");
    }
    raw.send(b"SUB _INBOX_WORKER.any.> 1\r\n");
    assert!(raw.refusal().contains("Permissions Violation for Subscription"));
    let args = ["match", "material", "zero", "--games", "2", "--out", "n", "--queue", &worker];
    let (code, _, err) = bench.run(args);
    assert!(code == 1 && err.contains("Permissions Violation for Publish"), "{err}");
    assert!(err.contains("the stream GPUTEXEL_WORK") && !bench.path("n").exists(), "{err}");
}
