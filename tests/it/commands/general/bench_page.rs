//! The page of `gputexel bench --page`, in headless Chromium.

use crate::common::browser::chromium;
use crate::common::prelude::*;
use crate::common::random_board;
use crate::common::webgpu::found;
use gputexel::devices::page::MEMBERS;

const POSITIONS: usize = 120;

/// Frames the other pages side by side, as wide as a phone, and sends what they show when all have come to an end.
const FRAME: &str = "<!DOCTYPE html><style>iframe{width:390px;height:900px}</style><body><script>
const frames = [1, 2, 3, 4, 5].map((number) => {
  const frame = document.createElement('iframe');
  frame.src = `/${number}#quick`;
  document.body.append(frame);
  return frame;
});
const text = (page, id) => page.getElementById(id)?.textContent;
setInterval(() => {
  const pages = frames.map((frame) => frame.contentDocument);
  if (!pages.every((page) => ['done', 'failed'].includes(page?.documentElement.dataset.state))) return;
  fetch('/found', { method: 'POST', body: JSON.stringify(pages.map((page) => ({
    state: page.documentElement.dataset.state,
    status: text(page, 'status'),
    adapter: text(page, 'adapter'),
    line: text(page, 'line'),
    hidden: page.getElementById('sending').hidden,
    speed: text(page, 'speed'),
    width: page.documentElement.scrollWidth,
  }))) });
}, 100);
</script>";

/// Ends the device when the first evaluation of several members is submitted.
const LOSE: &str = "const ask = GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = async function (...wanted) {
  const device = await ask.apply(this, wanted), submit = device.queue.submit.bind(device.queue);
  let submitted = 0;
  device.queue.submit = (commands) => { submit(commands); if (++submitted === 9) device.destroy(); };
  return device;
};";

const FEW: &str = "const few = (_, name) => (name === 'maxComputeWorkgroupStorageSize' ? 8192 : 2 ** 31);
Object.defineProperty(GPUAdapter.prototype, 'limits', { get: () => new Proxy({}, { get: few }) });";

const NONE: &str = "Object.defineProperty(navigator, 'gpu', { value: undefined });";

/// Writes a dataset of few phases: SwiftShader takes its time for each workgroup, and a bucket has its own.
fn endings(bench: &Bench) {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let mut writer = DatasetWriter::create(&bench.path("d.bin"), Metadata::new(set.clone()), true).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(65);
    let mut row = FeatureRow::default();
    for n in 0..POSITIONS {
        let mut board = random_board(&mut rng);
        let pieces = board.occupied() & !board.by_role(Role::Pawn) & !board.by_role(Role::King);
        // Every third keeps a piece.
        pieces.into_iter().skip(usize::from(n % 3 == 0)).for_each(|square| board.discard_piece_at(square));
        set.compute(&board, Color::White, &mut row);
        let labels = PositionLabels {
            result: [0.0, 1.0, 0.5, 1.0][n % 4],
            score_cp: None,
            weight: 0.5 + (n % 5) as f32 / 4.0,
            game: None,
        };
        writer.push(&row, labels).unwrap();
    }
    writer.finish(Vec::new(), []).unwrap();
}

#[test]
#[ignore = "full"]
fn the_page_checks_the_device_and_measures_it() {
    let Some(chromium) = chromium() else { return };
    let bench = Bench::new();
    endings(&bench);
    let (told, _) = bench.done("bench d.bin --page p.html");
    assert_has(&told, "p.html");
    let page = bench.text("p.html");
    for address in ["http://", "https://", "src=", "url("] {
        assert!(!page.contains(address), "{address}");
    }
    let before = |script: &str| page.replacen("<script", &format!("<script>{script}</script><script"), 1);
    let small = page.replacen("\"members\":[1,64,1024,4096]", "\"members\":[1,64]", 1);
    let wrong = small.replace("2.0 * difference * dp", "2.00001 * difference * dp");
    assert!(page != small && small != wrong);
    let pages = [FRAME.to_string(), page.clone(), wrong, before(LOSE), before(FEW), before(NONE)];
    let seen = found(&chromium, &pages);
    let status = |number: usize| seen[number - 1]["status"].str();
    assert_eq!(seen[4]["state"], "failed");
    assert_has(status(5), ["This browser has no WebGPU", "Nothing was measured"]);
    if status(1).contains("WebGPU") {
        return requirement::lack("webgpu", status(1));
    }
    assert_eq!(status(1), "Sound: every loss and gradient is within 1e-6 of f64.");
    assert_eq!((&seen[0]["state"], &seen[0]["hidden"]), (&json!("done"), &json!(false)));
    assert_has(seen[0]["adapter"].str(), "swiftshader");
    assert!(seen.list().iter().all(|page| page["width"].u64() <= 390), "{seen}");
    let line = seen[0]["line"].str();
    assert_eq!(line.lines().count(), 1);
    // As docs/benchmarks.md would show it.
    let table = super::bench::browsers(line);
    assert_eq!(table.matches("\n| google, swiftshader | ").count(), 2, "{table}");
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["gputexel"], &line["sound"]), (&json!(env!("CARGO_PKG_VERSION")), &json!(true)));
    assert!(line["date"].str().len() == 10 && line["browser"].str().contains("Chrom"), "{line}");
    let cells = line["cells"].list();
    let populations = MEMBERS.iter().flat_map(|&members| [(members as u64, false), (members as u64, true)]);
    for ((members, gradients), cell) in populations.zip(cells) {
        assert_eq!(
            (cell["members"].u64(), cell["gradients"].as_bool()),
            (members, Some(gradients)),
            "{cell}"
        );
        let (error, tile) = (cell["error"].f64(), cell["tile"].u64());
        assert!(error > 0.0 && error <= 1e-6 && (tile == 1) == (members == 1), "{cell}");
        assert_eq!(cell["positions"].u64(), POSITIONS as u64);
        assert!(cell["pairs_per_second"].f64() > 0.0, "{cell}");
    }
    assert_eq!((cells.len(), seen[0]["speed"].str().matches("/s").count()), (8, 8));
    // Slopes that are off by 5e-6 are found out, and losses are as right as before.
    assert_has(status(2), "Wrong: an error exceeds 1e-6");
    let line: Value = serde_json::from_str(seen[1]["line"].str()).unwrap();
    assert_eq!(line["cells"].list().len(), 4);
    for cell in line["cells"].list() {
        assert_eq!(cell["error"].f64() > 1e-6, cell["gradients"] == true, "{cell}");
    }
    assert_has(status(3), ["The device was lost in the middle", "destroyed"]);
    assert_has(
        status(4),
        "lacks a limit: maxComputeWorkgroupStorageSize is 8192, and the kernels need 16384.",
    );
    for failed in &seen.list()[2..] {
        assert_eq!((&failed["state"], &failed["hidden"]), (&json!("failed"), &json!(true)), "{failed}");
    }
}

#[test]
fn pages_are_made_of_rows_of_units() {
    let bench = Bench::with_positions(1100, 3);
    let (page, _) = bench.done("bench --page -");
    assert_has(&page, ["Content-Security-Policy", "4,096"]);
    let (told, _) = bench.done("--json bench d.bin --page p.html");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((told["positions"].u64(), told["bytes"].u64()), (1100, bench.bytes("p.html").len() as u64));
    bench.fails_with("bench d.bin --page p.html", 2, "p.html: exists; use --force");
    bench.fails_with("bench --page - --force", 2, "--force needs a file to write to");
    bench.fails_with("bench --page x.html --device cpu", 2, "cannot be used with");
    bench.fails_with("bench d.bin --page d.bin --force", 2, "is also an input");
    bench.dataset("m.bin", FeatureKind::Material, 1100, 1);
    bench.fails_with("bench m.bin --page m.html", 2, "coefficients of +1 and -1");
    assert!(!bench.path("m.html").exists());
}
