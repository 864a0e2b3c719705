//! No barrier is missing, and none is superfluous: every variant of the kernels is walked by a static checker.
//!
//! A kernel without barriers is not walked: its threads share nothing, as its header says. Every single barrier, when
//! removed, is then reported missing in every variant, except for those around shared scores if tiles have one
//! member, which only larger tiles need.

mod checker;

use super::variants::{all, module};
use checker::Checker;

/// Returns the barrier calls in a source: the name, and the bytes of the statement.
fn barriers(source: &str) -> Vec<std::ops::Range<usize>> {
    let find = |name: &'static str| source.match_indices(name).map(|(at, text)| at..at + text.len());
    let mut all: Vec<_> = find("workgroupBarrier();").chain(find("storageBarrier();")).collect();
    all.sort_by_key(|range| range.start);
    all
}

/// Returns true if a text ends inside the block last opened by some words.
fn is_inside(text: &str, opening: &str) -> bool {
    let Some(at) = text.rfind(opening) else { return false };
    let mut depth = 0;
    for c in text[at..].chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return false,
            '}' => depth -= 1,
            _ => {}
        }
    }
    true
}

#[test]
#[ignore = "full"]
fn every_barrier_is_necessary_and_none_is_missing() {
    let mut walked = 0;
    let mut removed = 0;
    for variant in all() {
        let barriers = barriers(&variant.source);
        if barriers.is_empty() {
            continue;
        }
        // The kind of loss does not affect sharing.
        if variant.constants.iter().any(|&(name, value)| name == "LOSS" && value != 0.0) {
            continue;
        }
        walked += 1;
        let (whole, _) = variant.module();
        assert_eq!(Checker::conflicts(&whole), [""; 0], "{}", variant.name);
        for range in barriers {
            let before = &variant.source[..range.start];
            let line = before.lines().count();
            let mutated = [before, &variant.source[range.end..]].concat();
            let is_off = |flag: &str| {
                let off = format!("const {flag} = false");
                variant.source.contains(&off) && is_inside(before, &format!("if {flag} {{"))
            };
            // A branch that is off has no threads.
            let is_staged = variant.constants.iter().any(|&(name, _)| name == "STAGE_ROWS");
            let is_of_stage = is_inside(before, "if STAGE_ROWS > 0u {");
            if is_off("RESAMPLES") || is_off("SHARED") || is_of_stage && !is_staged {
                continue;
            }
            let shared = is_inside(before, "if SHARED {");
            let (module, _) = module(&variant.name, &mutated, &variant.constants);
            let found = Checker::conflicts(&module);
            // With tiles of one, the thread that computes a score also uses it: unshared data need no barrier. Such
            // populations have larger tiles unless a test requests this.
            let is_alone = shared && variant.constants.contains(&("LANES", 1.0));
            assert_eq!(found.is_empty(), is_alone, "{}: the barrier on line {line}", variant.name);
            removed += 1;
        }
    }
    eprintln!("{walked} variants with barriers, {removed} barriers removed one by one");
    assert!(walked > 100 && removed > 400, "{walked} {removed}");
}

/// Returns the conflicts of a kernel of 64 threads whose shared array is `cells`.
fn found(body: &str) -> Vec<String> {
    let source = format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<f32>;\n\
         var<workgroup> cells: array<f32, 256>;\n\
         @compute @workgroup_size(64)\n\
         fn main(@builtin(local_invocation_index) thread: u32) {{\n{body}\n}}"
    );
    let (module, _) = module("a kernel of a test", &source, &[]);
    Checker::conflicts(&module)
}

#[test]
fn finds_exactly_the_conflicts() {
    let sound = [
        // Own cells, also with strides.
        "cells[thread] = 1.0; out[thread] = cells[thread];",
        "for (var i = thread; i < 256u; i += 64u) { cells[i] = 1.0; }\n\
         for (var i = thread; i < 256u; i += 64u) { out[i] = cells[i]; }",
        "let lane = thread % 8u; for (var i = thread / 8u; i < 32u; i += 8u) { cells[i * 8u + lane] = 1.0; }\n\
         cells[thread] = 2.0;",
        "cells[thread] = 1.0; workgroupBarrier(); out[thread] = cells[63u - thread];",
        "cells[thread] = 1.0;\n\
         for (var half = 32u; half > 0u; half /= 2u) { workgroupBarrier();\n\
         if thread < half { cells[thread] += cells[thread + half]; } }",
    ];
    for body in sound {
        assert_eq!(found(body), [""; 0], "{body}");
    }
    let wrong = [
        "cells[thread] = 1.0; out[thread] = cells[63u - thread];",
        "for (var i = thread; i < 256u; i += 32u) { cells[i] = 1.0; } out[thread] = cells[thread];",
        "cells[thread] = 1.0; storageBarrier(); out[thread] = cells[63u - thread];",
        // Another thread's cell in the next pass.
        "for (var i = 0u; i < 9u; i += 1u) { workgroupBarrier(); cells[thread] = 1.0; workgroupBarrier();\n\
         out[thread] = cells[63u - thread]; } cells[thread] = 2.0;",
        "cells[thread] = 1.0; workgroupBarrier();\n\
         for (var half = 32u; half > 0u; half /= 2u) { if thread < half { cells[thread] += cells[thread + half]; } }",
        // Without the guard, both halves belong to everybody.
        "cells[thread] = 1.0; workgroupBarrier(); let half = 32u + thread / 64u; cells[thread] += cells[thread + half];",
        // Only one branch has a barrier.
        "cells[thread] = 1.0; if out[0] > 0.0 { workgroupBarrier(); } out[thread] = cells[63u - thread];",
        // Rows of storage that another thread has written.
        "out[63u - thread] = 1.0; workgroupBarrier(); cells[thread] = out[thread];",
    ];
    for body in wrong {
        assert!(!found(body).is_empty(), "{body}");
    }
}
