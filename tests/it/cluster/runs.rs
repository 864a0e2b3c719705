//! Workers play the same games as threads of one machine.

use super::server::{Process, Server};
use crate::common::prelude::*;
use crate::common::spsa::{built_in, entries};

/// Returns the lines of a journal after the first, without times, sorted by number.
pub fn timeless(bench: &Bench, file: &str) -> Vec<Value> {
    let text = bench.text(file);
    let mut lines: Vec<Value> =
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        if let Some(games) = line["games"].as_array_mut() {
            games.iter_mut().for_each(|game| drop(game.as_object_mut().unwrap().remove("micros")));
        }
        if let Some(moves) = line["moves"].as_array_mut() {
            moves.iter_mut().for_each(|stored| drop(stored.as_array_mut().unwrap().pop()));
        }
        // Comments contain times.
        line.as_object_mut().unwrap().remove("pgn");
    }
    lines.sort_by_key(|line| line["pair"].as_u64().or(line["game"].as_u64()));
    lines
}

#[test]
fn workers_play_the_same_games_as_threads() {
    let bench = Bench::new();
    let Some(server) = Server::start(&bench, "") else { return };
    let url = server.url();
    let workers: Vec<_> = ["one", "two"].iter().map(|name| Process::worker(&bench, &url, name)).collect();

    let games = ["match", "material", "zero", "--nodes", "60", "--games", "12", "--seed", "5"];
    bench.told((&games, "--out here"));
    let there = bench.told((&games, &["--out", "there", "--queue", &url]));
    assert_eq!(there["games"], 12);
    assert_eq!(timeless(&bench, "there/match.jsonl"), timeless(&bench, "here/match.jsonl"));

    let games = ["selfplay", "--nodes", "60", "--games", "9"];
    bench.told((&games, "--out own"));
    bench.told((&games, &["--out", "theirs", "--queue", &url]));
    assert_eq!(timeless(&bench, "theirs/selfplay.jsonl"), timeless(&bench, "own/selfplay.jsonl"));

    for method in ["spsa", "bspsa"] {
        bench.write("run.toml", built_in(method, 12, 1));
        let run = ["spsa", "run", "run.toml", "--out"];
        bench.told((&run, [&*format!("{method}-here")]));
        let there = format!("{method}-there");
        bench.told((&run, &[there.as_str(), "--queue", &url]));
        assert_eq!(entries(&bench, &there), entries(&bench, &format!("{method}-here")));
    }
    bench.told(["spsa", "verify", "spsa-there", "--games", "4", "--queue", &url]);
    bench.told("spsa verify spsa-here --games 4");
    let verified = |run: &str| timeless(&bench, &format!("{run}/verify/match.jsonl"));
    assert_eq!(verified("spsa-there"), verified("spsa-here"));

    // Clocks are scaled, so nobody loses on time.
    let timed =
        ["match", "material", "zero", "--time", "0.3+0.01", "--time-margin-ms", "200", "--games", "4"];
    let told = bench.told((&timed, &["--out", "timed", "--queue", &url]));
    assert_eq!(told["games"], 4);

    let mut played = 0;
    for worker in workers {
        let (code, out, err) = worker.interrupt();
        assert_eq!(code, Some(0), "{err}");
        assert!(err.contains("the built-in engine, fingerprint "), "{err}");
        played += out.split(" played ").nth(1).unwrap().split(' ').next().unwrap().parse::<u64>().unwrap();
    }
    assert_eq!(played, 12 + 9 + 2 * 24 + 4 + 4);
}

#[test]
fn rejects_engines_with_another_fingerprint() {
    let bench = Bench::new();
    let Some(server) = Server::start(&bench, "") else { return };
    let url = server.url();
    let program = assert_cmd::cargo::cargo_bin!("gputexel").display().to_string();
    let config = |name: &str, params: &str| {
        let text = format!(
            "name = '{name}'\nconcurrency = 1\nbuilt_in = false\n[[engine]]\ncommand = '{program} uci --params {params}'\n"
        );
        bench.write(&format!("{name}.toml"), text);
    };
    config("good", "material");
    config("bad", "material:100,300,300,500,901");
    let bad = Process::start(&bench, ["worker", &url, "--config", "bad.toml"]);
    let engine = format!("cmd:{program} uci --params material");
    let option = "Debug Log File=stolen";
    let games = ["match", &engine, &engine, "--nodes", "40", "--games", "6", "--queue", &url];
    let run = Process::start(&bench, (&games, "--out m --option-a Hash=2"));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let good = Process::start(&bench, ["worker", &url, "--config", "good.toml"]);
    let (code, out, err) = run.finish();
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("6"), "{out}");
    let declined = "gputexel: worker 'bad' declines: 'gputexel' has the fingerprint ";
    assert_eq!(err.matches(declined).count(), 1, "{err}");
    assert!(err.contains("work declined: 'bad': 'gputexel' has the fingerprint "), "{err}");
    let (_, out, err) = bad.interrupt();
    assert!(out.starts_with("worker 'bad' played 0 games, ") && err.contains("declined work"), "{out}{err}");
    // An option that the engine lacks is refused before anything is sent.
    let args = ["match", &engine, &engine, "--games", "2", "--option-a", option, "--queue", &url];
    let (code, _, err) = bench.run(args);
    assert_eq!(code, 2, "{err}");
    assert!(good.interrupt().1.starts_with("worker 'good' played 6 games"));
}

#[test]
fn reports_unusable_queues_in_one_line() {
    let bench = Bench::new();
    let Some(server) = Server::start(&bench, "authorization { token: \"s3cret\" }") else { return };
    let url = server.url();
    bench.write("right", "s3cret\n");
    bench.write("wrong", "guessed\n");
    bench.write("empty", "");
    let games = ["match", "material", "zero", "--nodes", "30", "--games", "2", "--out", "m", "--queue", &url];
    for (args, reason) in [
        (vec!["worker", &url], "the server refuses user, password or token"),
        (vec!["worker", &url, "--queue-token-file", "wrong"], "the server refuses user, password or token"),
        (vec!["worker", &url, "--queue-token-file", "empty"], "empty: expected one line with a token"),
        (vec!["worker", &url, "--queue-token-file", "none"], "none: No such file"),
        (vec!["worker", &url, "--queue-credentials", "right"], "right: not a file of NATS credentials"),
        (vec!["worker", "nats://127.0.0.1:1"], "nats://127.0.0.1:1: "),
        (games.to_vec(), "the server refuses user, password or token"),
    ] {
        let line = bench.fails(&args, 1);
        assert!(
            line.contains(reason) && !line.contains("s3cret") && !line.contains("guessed"),
            "{args:?}: {line}"
        );
        assert!(!bench.path("m").exists());
    }
    for (args, reason) in [
        (vec!["worker", "http://me:s3cret@host"], "begins with neither nats:// nor tls://"),
        (vec!["worker", &url, "--concurrency", "0"], "--concurrency 0: expected 1 to 1024"),
        (vec!["match", "material", "zero", "--queue-lease", "5"], "--queue"),
        (
            [&games[..], &["--queue-token-file", "right", "--queue-lease", "0.1"]].concat(),
            "--queue-lease 0.1: expected",
        ),
        (
            [&games[..], &["--queue-token-file", "right", "--concurrency", "0"]].concat(),
            "--concurrency 0: expected at least 1",
        ),
    ] {
        let line = bench.fails(&args, 2);
        assert!(line.contains(reason) && !line.contains("s3cret"), "{args:?}: {line}");
    }
    // With the token, and without a recorded one.
    let worker =
        Process::start(&bench, ["worker", &url, "--queue-token-file", "right", "--concurrency", "1"]);
    bench.told((&games, "--force --queue-token-file right"));
    assert_eq!(worker.interrupt().0, Some(0));
}

#[test]
fn encrypted_servers_and_passwords() {
    let bench = Bench::new();
    if !crate::common::requirement::program("openssl") {
        return;
    }
    let (code, _, err) = bench.shell(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out own.pem \
         -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE",
    );
    assert_eq!(code, 0, "{err}");
    let [cert, key] = ["own.pem", "key.pem"].map(|name| bench.path(name).display().to_string());
    let more = format!(
        "tls {{ cert_file: \"{cert}\", key_file: \"{key}\" }}\nauthorization {{ user: me, password: \"s:cr@t\" }}"
    );
    let Some(server) = Server::start(&bench, &more) else { return };
    let url = format!("tls://me:s%3acr%40t@localhost:{}", server.port);
    let line = bench.fails(["worker", &url], 1);
    assert!(line.contains("tls://localhost:") && !line.contains("cr%40t"), "{line}");
    let args = ["worker", &url, "--queue-ca", "own.pem", "--concurrency", "1"];
    let worker = Process::start(&bench, args);
    let games = ["match", "material", "zero", "--nodes", "30", "--games", "2", "--out", "m", "--queue", &url];
    bench.told((&games, "--queue-ca own.pem"));
    // Others can read the folders.
    let journal = bench.text("m/match.jsonl");
    assert!(journal.contains("tls://me:***@localhost") && !journal.contains("cr%40t"), "{journal}");
    assert_eq!(worker.interrupt().0, Some(0));
}
