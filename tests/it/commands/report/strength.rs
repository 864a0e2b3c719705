//! Prior strength in the report of a run and in the output of `tune`: penalties, losses and boards agree with the
//! record, the worth of groups and the scale of the scores with their definitions.

use crate::common::prelude::*;
use gputexel::dataset::read;
use gputexel::objective::score;

fn bench() -> Bench {
    let bench = Bench::new();
    let sample = extracted_games();
    std::fs::copy(sample, bench.path("d.bin")).unwrap();
    bench
}

fn page(bench: &Bench, name: &str) -> String {
    bench.text(name)
}

fn section(html: &str) -> &str {
    let start = html.split("<section id=\"strength\">").nth(1).expect("the section");
    start.split("</section>").next().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.list().iter().map(|number| number.f64()).collect()
}

/// Returns the slope of the regression of tuned scores on those of the prior, weighted by p (1 − p).
fn slope(bench: &Bench, folder: &str) -> f64 {
    let data = read(&bench.path("d.bin")).unwrap();
    let config = &bench.json(&format!("{folder}/run.json"))["config"];
    let prior = numbers(&config["start"]);
    let k = config["k"].f64();
    let list = bench.json(&format!("{folder}/params.json"))["parameters"].list().clone();
    let values = |phase: &str| list.iter().map(|p| p[phase].f64()).collect::<Vec<f64>>();
    let tuned = [values("mg"), values("eg")].concat();
    let (share, seed) = (config["holdout"].f64(), config["seed"].u64());
    let split = Split::try_new(&data, share, 1, seed).unwrap();
    let (mut product, mut square) = (0.0, 0.0);
    for n in split.training() {
        let (before, after) = (score(&data, &prior, n), score(&data, &tuned, n));
        let p = expected_score(k, before);
        let weight = f64::from(data.row(n).weight) * p * (1.0 - p);
        product += weight * before * after;
        square += weight * before * before;
    }
    product / square
}

#[test]
#[ignore = "full"]
fn pages_show_chosen_weights_and_their_effect() {
    let bench = bench();
    let done = bench.tune("d.bin --prior-strength auto --out r");
    let record = bench.json("r/run.json");
    let strength = &record["strength"];
    assert_eq!(strength["keeps_prior"], false, "the sample is enough to beat the prior");
    let html = page(&bench, "r/report.html");
    let text = section(&html);
    assert!(html.len() < 1_500_000, "{} bytes", html.len());
    for kind in strength["kinds"].list() {
        let name = kind["kind"].str();
        let of_run = record["config"]["penalties"].list().iter().find(|p| p["kind"] == name);
        let weight = of_run.map_or("0".to_string(), |p| format!("{:.1e}", p["weight"].f64()));
        let row = text.split(&format!("scope=\"row\">{name}<")).nth(1).unwrap_or_else(|| panic!("no {name}"));
        assert!(row.split("</tr>").next().unwrap().ends_with(&format!("<td>{weight}</td>")), "{row}");
    }
    let gain = |key: &str| format!("{:.8}", strength["gain"][key].f64());
    assert!(html.contains(&format!("<dd>{} → {} (", gain("before"), gain("after"))));
    let effective = strength["effective"].f64();
    assert!(text.contains(&format!("<dd>{effective:.0} of {}</dd>", strength["coordinates"])));
    // The scale of the scores, by its definition.
    let ratio = slope(&bench, "r");
    let told = done["score_ratio"].f64();
    assert!((told - ratio).abs() < 1e-9, "{told} {ratio}");
    assert!(text.contains(&format!("Scores are {ratio:.2} times those of the prior")), "{text}");

    // The page is a function of the folder. Without the positions the scale of the scores is unknown; without the
    // fields, as in folders of earlier versions, the page is still created.
    let (code, ..) = bench.run("-q report r -o again.html");
    assert_eq!((code, page(&bench, "again.html")), (0, html.clone()));
    std::fs::rename(bench.path("d.bin"), bench.path("moved.bin")).unwrap();
    let (code, ..) = bench.run("-q report r");
    let without = page(&bench, "r/report.html");
    assert_eq!(code, 0);
    assert!(!section(&without).contains("Scores are"));
    assert!(section(&without).contains("K was fitted on the prior"), "{}", section(&without));
    let mut old = record;
    for key in ["strength", "scale"] {
        old.as_object_mut().unwrap().remove(key);
    }
    old["config"].as_object_mut().unwrap().remove("penalties");
    bench.write("r/run.json", old.to_string());
    bench.ok("-q report r");
    let without = page(&bench, "r/report.html");
    assert!(
        section(&without).contains("nothing holds the parameters") && !section(&without).contains("<table")
    );
}

#[test]
fn lists_given_weights_and_reports_changed_scale() {
    let bench = bench();
    let given = "d.bin --prior-strength smooth=1e-5,ridge=1e-6,ridge:king.eg=1e-4 --backend cpu";
    let out = bench.ok(("tune --out half --k 0.4", given));
    let html = page(&bench, "half/report.html");
    let text = section(&html);
    for row in [
        ("smooth: pawn, knight, bishop, rook, queen, king<", "1.0e-5"),
        ("ridge: pawn, knight, bishop, rook, queen, king.mg<", "1.0e-6"),
        ("ridge: king.eg<", "1.0e-4"),
    ] {
        let found = text.split(row.0).nth(1).unwrap_or_else(|| panic!("no {}: {text}", row.0));
        assert!(found.split("</tr>").next().unwrap().ends_with(&format!("<td>{}</td>", row.1)), "{found}");
    }
    assert!(!text.contains("<svg") && !text.contains("class=\"board\""), "nothing was chosen: {text}");
    // K is far too small for the prior, so tuned scores are larger.
    let ratio = slope(&bench, "half");
    let line = format!(
        "\nscale       scores are {ratio:.2} times the prior's: scale search margins, or --k joint\n"
    );
    assert!(ratio > 1.05 && out.contains(&line), "{ratio}: {out}");
    assert!(text.contains(&format!("Scores are {ratio:.2} times those of the prior: multiply")), "{text}");
    // If K is fitted jointly, scores keep their scale, and there is no note.
    let out = bench.ok(("tune --out joint --k joint", given));
    assert!((slope(&bench, "joint") - 1.0).abs() < 0.01 && !out.contains("\nscale  "), "{out}");
    let html = page(&bench, "joint/report.html");
    assert!(section(&html).contains("fitted together with the parameters"), "{}", section(&html));
    assert!(section(&html).contains("1.00 times those of the prior: search margins in centipawns can stay"));
}
