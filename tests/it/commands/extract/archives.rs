//! `gputexel extract` on compressed games and archives of games.

use crate::common::prelude::*;
use std::io::Write as _;

const BLOCK: usize = 512;

/// Builds a tar header with the fields that matter and their checksum.
fn header(name: &[u8], kind: u8, size: usize) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    header[..name.len()].copy_from_slice(name);
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

fn member(name: &str, content: &[u8]) -> Vec<u8> {
    [&header(name.as_bytes(), b'0', content.len())[..], &padded(content)].concat()
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes: Vec<u8> = members.iter().flat_map(|(name, content)| member(name, content)).collect();
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    bytes
}

fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Builds a zip file; every other member is deflated, the rest stored.
fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (i, (name, content)) in members.iter().enumerate() {
        let (method, packed) = if i % 2 == 0 {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(content).unwrap();
            (8u16, encoder.finish().unwrap())
        } else {
            (0, content.to_vec())
        };
        let mut sum = flate2::Crc::new();
        sum.update(content);
        let mut common = [0; 26];
        common[0] = 20;
        common[4..6].copy_from_slice(&method.to_le_bytes());
        common[10..14].copy_from_slice(&sum.sum().to_le_bytes());
        common[14..18].copy_from_slice(&(packed.len() as u32).to_le_bytes());
        common[18..22].copy_from_slice(&(content.len() as u32).to_le_bytes());
        common[22..24].copy_from_slice(&(name.len() as u16).to_le_bytes());
        directory.extend_from_slice(b"PK\x01\x02\x14\0");
        directory.extend_from_slice(&common);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b"PK\x03\x04");
        bytes.extend_from_slice(&common);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&packed);
    }
    let at = bytes.len() as u32;
    bytes.extend_from_slice(&directory);
    bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    bytes.extend_from_slice(&[members.len() as u16; 2].map(u16::to_le_bytes).concat());
    bytes.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&at.to_le_bytes());
    bytes.extend_from_slice(&[0; 2]);
    bytes
}

fn games() -> [String; 2] {
    let other = GAME.replace("9. h3 Nb8", "9. d3 Na5");
    let first = [pgn("", GAME, "1-0"), pgn("", &other, "0-1")].concat();
    [first.trim_end().to_string(), pgn("", &GAME.replace("9. h3 Nb8", "9. d4 Bg4"), "1-0")]
}

#[test]
fn games_of_an_archive_are_one_input() {
    let bench = Bench::new();
    let [one, two] = games();
    bench.write("plain.pgn", format!("{one}\n\n{two}"));
    bench.extract("plain.pgn --keep-duplicates");
    let wanted = tensors(&bench.path("out.bin"));
    let (one, two) = (one.as_bytes(), two.as_bytes());
    let packed = [bz2(one), bz2(two)];
    let plain: &[(&str, &[u8])] = &[("a.json", b"{}"), ("d/1.pgn", one), ("d/2.pgn", two)];
    let openbench =
        tar(&[("1.1.pgn.bz2", &packed[0]), ("log.json", b"{\"a\": 1}"), ("1.2.pgn.bz2", &packed[1])]);
    let mut folders = header(b"d/", b'5', 0).to_vec();
    folders.extend_from_slice(&header(b"d/link.pgn", b'2', 0));
    folders.extend_from_slice(&tar(plain));
    for (name, bytes, warned) in [
        ("x.pgn.tar", openbench.clone(), vec!["left out 1 file of the archive without games: log.json"]),
        ("x.tar.zst", zstd::encode_all(&openbench[..], 3).unwrap(), vec!["log.json"]),
        ("x.tar.gz", gz(&openbench), vec!["log.json"]),
        ("x.tar.bz2", bz2(&openbench), vec!["log.json"]),
        ("misnamed.pgn", xz(&openbench), vec!["log.json"]),
        ("folders.tar", folders, vec!["a.json", "left out 1 link "]),
        ("two.pgn.bz2", [bz2(one), bz2(b"\n\n"), bz2(two)].concat(), Vec::new()),
        ("two.pgn.xz", [xz(one), xz(b"\n\n"), xz(two)].concat(), Vec::new()),
        ("x.zip", zip(plain), vec!["a.json"]),
        ("y.zip", zip(&[("1.pgn.bz2", &packed[0]), ("2.pgn", two)]), Vec::new()),
    ] {
        bench.write(name, &bytes);
        for stdin in [false, true] {
            let (args, stdin) = if stdin { (["-"], bytes.clone()) } else { ([name], Vec::new()) };
            if args[0] == "-" && name.ends_with(".zip") {
                assert_has(&bench.refuse_from(args, stdin, 1), "can only be read from a file");
                continue;
            }
            let (report, _) = bench.extract_from([args[0], "--keep-duplicates"], stdin);
            assert_eq!(tensors(&bench.path("out.bin")), wanted, "{name}");
            let source = &report["sources"][0];
            assert_eq!(source["records"], 3, "{name}");
            let warnings = source["warnings"].list();
            assert_eq!(warnings.len(), warned.len(), "{name}: {warnings:?}");
            for (warning, text) in warnings.iter().zip(warned.iter().copied()) {
                assert!(warning.str().contains(text), "{name}: {warning}");
            }
        }
    }
}

#[test]
fn reports_the_faulty_file_of_an_archive() {
    let bench = Bench::new();
    let [one, two] = games();
    // A comment that is never closed ends with its file.
    let open = format!("{} {{never closed", one.strip_suffix(" 0-1").unwrap());
    let bad = two.replace("2. Nf3", "2. Nf6");
    let archive = tar(&[("1.pgn", open.as_bytes()), ("2.pgn", bad.as_bytes()), ("3.pgn", two.as_bytes())]);
    bench.write("x.tar", &archive);
    let (report, _) = bench.extract("x.tar --max-bad-share 1 --keep-duplicates");
    let source = &report["sources"][0];
    assert_eq!(source["records"], 4, "{source}");
    let skipped: Vec<&str> = source["skipped_games"].texts();
    assert!(skipped.iter().any(|text| text.starts_with("x.tar:2.pgn: game 3 (line 4): ")), "{skipped:?}");
}

#[test]
fn accepts_long_names_in_archives() {
    let bench = Bench::new();
    let [one, _] = games();
    let name = format!("{}/1.pgn", "long".repeat(40));
    let gnu = [
        &header(b"././@LongLink", b'L', name.len() + 1)[..],
        &padded(format!("{name}\0").as_bytes()),
        &tar(&[("short.json", one.as_bytes())]),
    ]
    .concat();
    let record = format!(" path={name}\n");
    let record = format!("{}{record}", record.len() + 3);
    let pax = [
        &header(b"pax", b'x', record.len())[..],
        &padded(record.as_bytes()),
        &tar(&[("short.json", one.as_bytes())]),
    ]
    .concat();
    for bytes in [gnu, pax] {
        bench.write("x.tar", bytes);
        let (report, _) = bench.extract("x.tar --keep-duplicates");
        assert_eq!(report["sources"][0]["records"], 2, "{report}");
    }
}

#[test]
fn rejects_several_position_files_in_an_archive() {
    let bench = Bench::new();
    let lines = "4k3/8/8/8/8/8/4P3/4K3 w - - [1.0]\n4k3/4p3/8/8/8/8/8/4K3 b - - [0.0]\n".as_bytes();
    bench.write("alone.zip", zip(&[("positions", lines)]));
    bench.extract("alone.zip");
    let wanted = tensors(&bench.path("out.bin"));
    bench.write("alone.tar", tar(&[("a.json", b"{}"), ("x.epd", lines)]));
    bench.extract("alone.tar");
    assert_eq!(tensors(&bench.path("out.bin")), wanted);
    for (name, bytes, reason) in [
        ("two.tar", tar(&[("x.epd", lines), ("y.epd", lines)]), "not all of them games (.pgn): x.epd, y.epd"),
        ("two.zip", zip(&[("x.epd", lines), ("y.pgn", b"")]), "not all of them games (.pgn): x.epd, y.pgn"),
        ("none.tar", tar(&[("x.json", b"{}")]), "without games or positions; it holds x.json"),
        ("empty.zip", zip(&[]), "is an archive without files"),
        ("nested.tar", tar(&[("x.pgn", &tar(&[("y.pgn", b"")]))]), "an archive within an archive"),
        ("nested.zip", zip(&[("x.pgn", &zip(&[]))]), "can only be read from a file"),
    ] {
        bench.write(name, bytes);
        bench.refuse_with([name], 1, reason);
    }
}

#[test]
#[ignore = "full"]
fn reports_games_lost_from_damaged_archives() {
    let bench = Bench::new();
    let [one, two] = games();
    let (one, two) = (bz2(one.as_bytes()), bz2(two.as_bytes()));
    let archive = tar(&[("1.pgn.bz2", &one), ("2.pgn.bz2", &two)]);
    let second = BLOCK + one.len().next_multiple_of(BLOCK);
    let extract = |bytes: &[u8]| {
        let (code, out, err) = bench.feed("--json extract - -o out.bin --force", bytes.to_vec());
        assert!(!err.contains("panicked"), "{err}");
        (code, out, err)
    };
    // At every byte near the boundaries, and some between.
    let ends = (1..archive.len()).filter(|end| {
        [0, BLOCK, BLOCK + one.len(), second, second + BLOCK, second + BLOCK + two.len()]
            .iter()
            .any(|at| end.abs_diff(*at) < 3)
            || end % 61 == 0
    });
    for end in ends {
        let (code, out, err) = extract(&archive[..end]);
        // Only between files does nothing indicate that more should follow.
        let complete = end == archive.len() - BLOCK;
        assert_eq!(code == 0, complete || [second, archive.len() - 2 * BLOCK].contains(&end), "{end}: {err}");
        if code == 0 {
            assert_eq!(out.contains("without an end mark"), !complete, "{end}: {out}");
        } else {
            assert_eq!((code, err.lines().count()), (1, 1), "{end}: {err}");
        }
    }
    let mut broken = archive.clone();
    broken[second + 3] ^= 1;
    let (code, _, err) = extract(&broken);
    assert!(code == 1 && err.contains(&format!("no header of a file at byte {second}")), "{err}");
    let mut broken = archive.clone();
    broken[second + BLOCK + 20] ^= 1;
    let (code, _, err) = extract(&broken);
    assert!(code == 1 && err.contains("-:2.pgn.bz2: the compressed stream is damaged"), "{err}");
    let with_tail = [&archive[..], &[b'x'; BLOCK]].concat();
    let (code, out, _) = extract(&with_tail);
    assert!(code == 0 && out.contains("what follows is not part of it"), "{out}");
}
