//! The report of a run through the real binary: it exists however the run ended, has the numbers of the run, loads
//! nothing from elsewhere, and escapes names.

use crate::common::prelude::*;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 4000, 7);
    bench
}

fn report(bench: &Bench, name: &str) -> String {
    bench.text(name)
}

/// Beginning of a link to a position at lichess, which is opened by a reader's click alone.
const ANALYSIS: &str = "href=\"https://lichess.org/analysis/standard/";

/// Returns a page without its links to positions.
fn without_analysis(html: &str) -> String {
    let mut parts = html.split(ANALYSIS);
    let mut rest = parts.next().unwrap().to_string();
    for part in parts {
        let (fen, after) = part.split_once('"').unwrap();
        assert!(fen.chars().all(|c| c.is_ascii_alphanumeric() || "/_-".contains(c)), "{fen}");
        rest += after;
    }
    rest
}

/// Asserts that a page has nothing that could make a browser request or run something.
fn assert_self_contained(html: &str) {
    let html = &*without_analysis(html);
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>"));
    assert!(html.contains("default-src 'none'"), "the policy is missing");
    let markup = html.replace("href=\"data:,\"", "").replace("href=\"#", "");
    for forbidden in
        ["<script", "src=", "srcset=", "href=", "url(", "@import", "<link rel=\"style", "<iframe", "<object"]
    {
        assert!(!markup.contains(forbidden), "{forbidden}");
    }
    assert!(!html.contains("http://") && !html.contains("https://"), "an address");
    for tag in ["table", "svg", "section", "details", "div", "main"] {
        let (open, closed) =
            (html.matches(&format!("<{tag}")).count(), html.matches(&format!("</{tag}>")).count());
        assert_eq!(open, closed, "{tag}");
    }
    // Every picture has a name.
    assert_eq!(html.matches("role=\"img\"").count(), html.matches("aria-labelledby").count());
    let mut ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id is there twice");
}

/// Returns the cells of the first board after a text, a1 first.
fn board_after(html: &str, text: &str) -> Vec<String> {
    let board = html.split(text).nth(1).unwrap_or_else(|| panic!("no {text}"));
    let rows: Vec<&str> = board
        .split("<tbody>")
        .nth(1)
        .unwrap()
        .split("</tbody>")
        .next()
        .unwrap()
        .split("<tr>")
        .skip(1)
        .collect();
    let cells = |row: &&str| -> Vec<String> {
        row.split("<td")
            .skip(1)
            .map(|cell| cell.split('>').nth(1).unwrap().trim_end_matches("</td").to_string())
            .collect()
    };
    rows.iter().rev().flat_map(cells).collect()
}

#[test]
fn a_run_leaves_a_report_with_its_numbers() {
    let bench = bench();
    let done = bench.tune("d.bin --out r --l2 1e-4 --holdout 0.2 --errors");
    let html = report(&bench, "r/report.html");
    assert_self_contained(&html);
    assert!(html.len() < 1_500_000, "{} bytes", html.len());
    assert_has(
        &html,
        [
            "training loss (squared)",
            "held-out loss",
            "finished",
            "Calibration, endgame",
            "Under-/over-confidence, by pieces",
            "Worth of pieces",
            "Held-out error ",
            "standard errors",
            "xxh3",
        ],
    );
    for number in [&done["loss_before"], &done["loss"], &done["held_out_before"], &done["held_out"]] {
        let text = format!("{:.8}", number.f64());
        assert!(html.contains(&text), "{text}");
    }
    // Boards hold the values of params.json, square by square. (Held-out games may keep the prior, which is
    // the same in both phases.)
    bench.tune("d.bin --out boards --l2 1e-4");
    let boards = report(&bench, "boards/report.html");
    let file = bench.json("boards/params.json");
    let list = file["parameters"].list();
    let of = |group: &str, value: &dyn Fn(&serde_json::Value) -> String| -> Vec<String> {
        list.iter().filter(|p| p["group"] == group).map(value).collect()
    };
    let whole = |value: &serde_json::Value| format!("{:.0}", value.f64().round() + 0.0);
    for group in ["pawn", "knight", "king"] {
        assert_eq!(board_after(&boards, &format!(">{group}, middlegame")), of(group, &|p| whole(&p["mg"])));
        assert_eq!(board_after(&boards, &format!(">{group}, endgame")), of(group, &|p| whole(&p["eg"])));
    }
    // The worst held-out positions have diagrams and links.
    let worst = html.split("<section id=\"errors\">").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(worst.contains("held-out positions") && worst.contains("share of the "), "{worst}");
    assert_eq!((worst.matches("class=\"case\"").count(), worst.matches(ANALYSIS).count()), (12, 12));
    // The page is a function of the folder and the dataset.
    let out = bench.ok("report r -o again.html");
    assert_eq!(out, "written     again.html\n");
    assert_eq!(report(&bench, "again.html"), html);
    bench.fails_with("report r -o again.html", 2, "use --force");
    let (code, out, _) = bench.run("--json report r -o again.html --force");
    let object: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, object["positions"].as_u64(), object["final"].as_bool()), (0, Some(4000), Some(true)));
}

#[test]
fn reports_missing_positions_and_accepts_moved_ones() {
    let bench = bench();
    bench.tune("d.bin --out r --epochs 2");
    let whole = report(&bench, "r/report.html");
    std::fs::rename(bench.path("d.bin"), bench.path("moved.bin")).unwrap();
    assert_has(&bench.ok("report r"), "does not exist; give the file with --dataset");
    let without = report(&bench, "r/report.html");
    assert!(
        without.contains("does not exist; give the file with --dataset")
            && !without.contains("Calibration, all phases")
    );
    let (code, ..) = bench.run("report r --dataset moved.bin");
    assert_eq!(code, 0);
    assert!(report(&bench, "r/report.html").contains("Calibration, all phases"));
    assert_eq!(report(&bench, "r/report.html"), whole);
    bench.dataset("other.bin", FeatureKind::Pst, 100, 8);
    bench.fails_with("report r --dataset other.bin", 1, "is not the dataset of the run");
    std::fs::rename(bench.path("other.bin"), bench.path("d.bin")).unwrap();
    let (code, out, _) = bench.run("report r");
    assert!(code == 0 && out.contains("is not the dataset of the run"), "{out}");
    bench.fails_with("report nowhere", 1, "is not the folder of a run");
    bench.write("r/metrics.jsonl", "{\"epoch\": 1, \"loss\": 0.1}\nnonsense\n");
    bench.fails_with("report r --dataset moved.bin", 1, "metrics.jsonl:2: not a step");
}

#[test]
fn names_cannot_become_markup() {
    let bench = bench();
    let evil = "<script>alert(\"x\")</script>&'";
    let basis = serde_json::json!({
        "format": "gputexel-basis", "version": 1, "name": evil, "base": "prior",
        "coordinates": [{"name": evil, "min": -50, "max": 50, "moves": {"knight": 1}}],
    });
    bench.write("b.json", basis.to_string());
    let folder = "r<b>\"'&";
    bench.tune(["d.bin", "--out", folder, "--basis", "b.json", "--epochs", "3"]);
    let html = report(&bench, &format!("{folder}/report.html"));
    assert_self_contained(&html);
    assert!(
        html.contains("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;"),
        "the coordinate is not listed"
    );
    assert!(html.contains("r&lt;b&gt;&quot;"));
    assert!(html.contains(">Coordinates<") || html.contains("Coordinates <"));
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn interrupted_and_finished_runs_have_reports() {
    let bench = bench();
    let flags = "tune d.bin --l2=0 --out r --backend cpu --threads=1 --optimizer adam --k 0.8";
    let child = bench.spawn((flags, "--epochs 1000000 --improvement 0 --checkpoint-every 0"));
    wait_until("there are metrics", || {
        std::fs::read_to_string(bench.path("r/metrics.jsonl")).is_ok_and(|text| text.lines().count() >= 5)
    });
    bench.shell(&format!("kill -INT {}", child.id()));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let html = report(&bench, "r/report.html");
    assert_self_contained(&html);
    assert_has(&html, ["not final", "Calibration, all phases", "knight, middlegame"]);
    let epochs = bench.metrics("r").len();
    assert!(
        html.contains(&format!("{epochs} of at most 1,000,000 epochs; interrupted before the end")),
        "{epochs}"
    );

    // A killed run has only the files written so far.
    bench.tune("d.bin --out k --epochs 3");
    for name in ["params.json", "checkpoint.safetensors", "report.html"] {
        std::fs::remove_file(bench.path("k").join(name)).unwrap();
    }
    bench.ok("report k");
    let html = report(&bench, "k/report.html");
    assert!(
        html.contains("not final")
            && html.contains("Loss over epochs")
            && !html.contains("knight, middlegame")
    );
    // An earlier report is removed by a new run in the same folder.
    bench.write("k/report.html", "old");
    let (code, ..) = bench.run("tune d.bin --out k --force --epochs 1 --backend cpu");
    assert!(code == 0 && report(&bench, "k/report.html").contains("after 1 epoch: "));
}

#[test]
#[ignore = "full"]
fn swarms_and_sweeps_have_pictures_of_their_own() {
    let bench = bench();
    bench.ok("-q pso d.bin --out p --k 0.8 --iterations 12 --swarms 3 --backend cpu");
    let html = report(&bench, "p/report.html");
    assert_self_contained(&html);
    assert_has(
        &html,
        [
            "Best positions of the swarms",
            "Lowest loss of each swarm",
            "knight.material.mg",
            "Loss over iterations",
        ],
    );
    let grid =
        ["--grid", "l2=0,1e-4,1e-3", "--grid", "learning-rate=5,20", "--epochs", "5", "--backend", "cpu"];
    bench.ok(("-q sweep d.bin --out s", &grid));
    let html = report(&bench, "s/report.html");
    assert_self_contained(&html);
    for part in
        ["Held-out loss by l2", "Held-out loss by learning-rate", "0 (best)", "Settings ranked", "finished"]
    {
        assert!(html.contains(part), "{part}");
    }
    let best = bench.text("s/runs.csv");
    let first = best.lines().nth(1).unwrap().split(',').nth(2).unwrap().to_string();
    assert!(html.contains(&format!("<td>{first}</td>")), "{first}");
    bench.ok("report s -o again.html");
    assert_eq!(report(&bench, "again.html"), html);
    bench.fails_with("report s --dataset d.bin", 2, "needs no positions");
}
