//! Input that `gputexel extract` refuses, warns about or leaves unchanged.

use super::positions::scheme;
use crate::common::prelude::*;
use std::io::Write as _;

#[test]
fn names_unsupported_formats() {
    let bench = Bench::new();
    let fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1";
    for (name, text, part) in [
        (
            "a.csv",
            format!("Hash,Ply,GamePly,FEN,Score\n1,2,3,{fen},35\n"),
            "a.csv:1: the header line has a column 'fen', but none of results",
        ),
        (
            "b.csv",
            format!("FEN,Evaluation\n{fen},35\n"),
            "b.csv:1: the header line has a column 'fen', but none of results (result, wdl",
        ),
        ("c.csv", format!("{fen},0.5\n"), "c.csv:1: columns need a header line"),
        ("d.csv", format!("7,{fen},1\n"), "d.csv:1: the result 7 is not from 0 to 1"),
        ("d2.csv", format!("\"{fen}\",0.5\n"), "d2.csv:1: columns need a header line"),
        ("e.csv", "result,moves\n1,e2e4\n".to_string(), "none of positions (fen, epd"),
        ("f.jsonl", format!("{{\"fen\":\"{fen}\"}}\n"), "f.jsonl: is JSON, but not that of evaluations"),
        (
            "g.jsonl",
            format!("{{\"fen\":\"{fen}\",\"evals\":[]}}\n"),
            "g.jsonl: holds evaluations, but no results; --target score takes the scores instead",
        ),
        ("h.bin", "BINP\0\0\0x".to_string(), "h.bin: damaged at byte 0: a block of impossible size"),
        ("i.pgn", "ab\0\u{1}".to_string(), "i.pgn: is binary data, but neither games"),
        ("j.epd", format!("{fen} bm e5; id \"x\";\n"), "j.epd:1: no result after the position, only 'bm e5;"),
        ("k.epd", format!("{fen}; w\n"), "a word or letter for a result"),
    ] {
        bench.write(name, &text);
        bench.refuse_with([name], 1, part);
        assert_has(&bench.refuse_from("-", text, 1), part.split_once(": ").map_or(part, |(_, what)| what));
    }
}

#[test]
fn rejects_duplicate_inputs() {
    let bench = Bench::new();
    let text = scheme(300, |_, _, r| format!("[{r:.1}]"));
    bench.write("a.epd", &text);
    bench.refuse_with("a.epd ./a.epd", 2, "./a.epd: is given twice");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.epd", bench.path("link.epd")).unwrap();
        bench.refuse_with("link.epd a.epd", 2, "a.epd: is given twice");
    }
    // Renamed and compressed, it is still recognized as the same file.
    bench.write("b.epd.zst", zstd::encode_all(text.as_bytes(), 3).unwrap());
    bench.write("c.epd", text.replacen("[1.0]", "[0.5]", 1));
    for (inputs, duplicates) in
        [(&["a.epd", "c.epd", "b.epd.zst"], ""), (&["c.epd", "b.epd.zst", "a.epd"], "--keep-duplicates")]
    {
        let (report, _) = bench.extract((&inputs, duplicates));
        let sources = report["sources"].list();
        let twice: Vec<&Value> = sources.iter().filter(|source| source["same_as"].is_string()).collect();
        assert_eq!(twice.len(), 1, "{report}");
        assert_eq!(twice[0]["path"], inputs[2]);
        let earlier = twice[0]["same_as"].str();
        assert_has(&twice[0]["warnings"].to_string(), format!("has the same content as {earlier}"));
        let (out, _) = bench.done("info out.bin");
        assert!(out.contains(&format!("the same content as {earlier}")), "{out}");
    }
}

#[test]
fn damaged_gzip_data_are_refused() {
    let bench = Bench::new();
    let text = scheme(3000, |_, _, r| format!("[{r:.1}]"));
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    for bytes in
        [&gz[..gz.len() - 3], &[&gz[..], &gz[..gz.len() / 2]].concat(), &[&gz[..], b"<html>"].concat()]
    {
        bench.write("x.epd.gz", bytes);
        bench.refuse_with("x.epd.gz", 1, "damaged or cut short");
    }
}

#[test]
fn bad_requests_are_refused_in_one_line() {
    let bench = Bench::new();
    bench.write("book.epd", "# openings\n4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n");
    bench.refuse_with("book.epd", 1, "book.epd:2: no result after the position");
    bench.write("empty.epd", "");
    bench.refuse_with("empty.epd", 1, "empty.epd: is empty");
    bench.write("empty.pgn", "\n");
    bench.refuse_with("empty.pgn", 1, "empty.pgn: is empty");
    bench.refuse_with("-", 1, "-: is empty");
    bench.refuse_with("missing.epd", 1, "missing.epd: No such file");
    bench.refuse_with(".", 1, "is a folder");
    bench.refuse_with("book.epd --pov black", 2, "point of view 'black'");
    bench.refuse_with("book.epd --labels c10", 2, "label syntax 'c10'");
    bench.refuse_with("book.epd --model nnue", 2, "model 'nnue'");
    bench.refuse_with("book.epd --phase 1,2", 2, "phase '1,2'");
    bench.refuse_with("book.epd --threads 0", 2, "0 threads");
    bench.refuse_with("book.epd --max-bad-share 2", 2, "bad share 2");
    let error = bench.refuse_from("- --pov stm", pgn("", GAME, "1-0"), 2);
    assert_has(&error, "only apply to labeled positions in text");
    bench.refuse_with("- -", 2, "only once");
    assert_eq!(bench.run("extract").0, 2);
}

#[test]
fn does_not_overwrite_outputs() {
    let bench = Bench::new();
    bench.write("good.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - [1.0]\n");
    bench.write("out.bin", "precious");
    let (code, _, err) = bench.run("extract good.epd -o out.bin");
    assert_eq!(code, 2);
    assert!(err.contains("out.bin: exists; use --force"), "{err}");
    bench.write("bad.epd", "4k3/8/8/8/8/8/4P3/4K3 w - -\n");
    assert_eq!(bench.run("extract bad.epd -o out.bin --force").0, 1);
    assert_eq!(std::fs::read(bench.path("out.bin")).unwrap(), b"precious");
    let (code, _, err) = bench.run("extract good.epd -o good.epd --force");
    assert_eq!((code, err.contains("is also an input")), (2, true), "{err}");
    let (code, _, err) = bench.run("extract good.epd -o no/such/folder/x.bin");
    assert_eq!(code, 1);
    assert!(err.contains("no/such/folder"), "{err}");
    let (code, out, _) = bench.run("extract good.epd -o out.bin --force --quiet");
    assert_eq!((code, out.as_str()), (0, ""));
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn an_interrupt_leaves_nothing_behind() {
    let bench = Bench::new();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_gputexel"))
        .current_dir(bench.folder.path())
        .args(["extract", "-", "-o", "x.bin"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Enough for detection, then a pipe that stays open and silent.
    let mut pipe = child.stdin.take().unwrap();
    for i in 0..20_000 {
        writeln!(pipe, "4k3/8/8/8/8/8/4P3/4K3 w - - {} {i} [1.0]", i % 50).unwrap();
    }
    pipe.flush().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error, "gputexel: interrupted: nothing was written\n");
    assert_eq!(std::fs::read_dir(bench.folder.path()).unwrap().count(), 0);
    drop(pipe);
}
