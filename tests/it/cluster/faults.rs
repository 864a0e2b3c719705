//! Kills, freezes and duplicate messages: each pair counts once, and the result of the run is unchanged.

use super::runs::timeless;
use super::server::{Process, Raw, Server};
use crate::common::prelude::*;
use crate::common::spsa::{built_in, entries};

fn lines(bench: &Bench, file: &str) -> usize {
    std::fs::read(bench.path(file)).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count())
}

/// Sends every result a second time, until the server is gone.
fn echo(port: u16) {
    let mut raw = Raw::connect(port, "");
    raw.send(b"SUB gputexel.result.* 1\r\n");
    raw.flush();
    std::thread::spawn(move || {
        let mut seen = std::collections::HashSet::new();
        while let Ok((subject, payload)) =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| raw.message()))
        {
            if seen.insert(payload.clone()) {
                raw.publish(&subject, &payload);
            }
        }
    });
}

#[test]
fn counts_each_pair_once_despite_kills_and_freezes() {
    let bench = Bench::new();
    let Some(mut server) = Server::start(&bench, "") else { return };
    let url = server.url();
    let games = "match material zero --nodes 1000 --games 60";
    let queue = ["--queue", &url, "--queue-lease", "2"];
    bench.told((games, "--out here"));
    let names = ["one", "two", "three", "four"];
    let mut workers: Vec<_> = names.iter().map(|name| Process::worker(&bench, &url, name)).collect();
    echo(server.port);
    let mut run = Process::start(&bench, (games, ("--out there", &queue)));
    wait_until("some pairs are played", || lines(&bench, "there/match.jsonl") >= 5);

    // All are in the middle of a game.
    workers.remove(3).kill();
    workers[2].signal("-STOP");
    run.kill();
    server.kill();
    std::thread::sleep(Duration::from_millis(300));
    server.restart();
    echo(server.port);
    let known = lines(&bench, "there/match.jsonl");
    assert!(known < 31, "the match was over before anything happened");
    let run = Process::start(&bench, ("match --resume there", &queue));
    // Longer than the lease.
    std::thread::sleep(Duration::from_millis(2500));
    workers[2].signal("-CONT");
    let (code, _, err) = run.finish();
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(timeless(&bench, "there/match.jsonl"), timeless(&bench, "here/match.jsonl"));
    assert!(err.contains(" of pairs that had one already"), "{err}");
    assert!(!err.contains("forged") && !err.contains("unreadable"), "{err}");
    for worker in workers {
        assert_eq!(worker.interrupt().0, Some(0));
    }
}

#[test]
fn sequential_pairs_give_the_journal_of_a_local_run() {
    let bench = Bench::new();
    let Some(mut server) = Server::start(&bench, "") else { return };
    let url = server.url();
    let config = built_in("bspsa", 24, 1).replace("nodes=40", "nodes=800");
    bench.write("run.toml", config);
    bench.told("spsa run run.toml --out here");
    let queue = ["--queue", &url, "--queue-lease", "1"];
    let mut workers: Vec<_> =
        ["one", "two", "three"].iter().map(|name| Process::worker(&bench, &url, name)).collect();
    let mut run = Process::start(&bench, ("spsa run run.toml --out there", &queue));
    wait_until("a pair is played", || lines(&bench, "there/spsa.jsonl") >= 2);
    // One of them has the pair.
    workers[0].signal("-STOP");
    workers.remove(1).kill();
    wait_until("others go on", || lines(&bench, "there/spsa.jsonl") >= 6);
    run.kill();
    server.kill();
    server.restart();
    let run = Process::start(&bench, ("spsa run --resume there", &queue));
    wait_until("it goes on", || lines(&bench, "there/spsa.jsonl") >= 9);
    workers[0].signal("-CONT");
    // A server that has lost its disk and with it the pair, which now nobody has.
    workers.clear();
    server.kill();
    std::fs::remove_dir_all(bench.path("js")).unwrap();
    server.restart();
    let _worker = Process::worker(&bench, &url, "four");
    let (code, _, err) = run.finish();
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(entries(&bench, "there"), entries(&bench, "here"));
    assert!(err.contains("the connection was lost") && err.contains("connected again"), "{err}");
}
