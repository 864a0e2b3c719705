//! Any bytes as lines of a trace, under schemas that use everything; and as a schema.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use gputexel::trace::{CompiledSchema, Schema, read_lines};
use libfuzzer_sys::fuzz_target;

const HEAD: &str = r#"{"format": "gputexel-schema", "version": 1, "#;

static PLANS: LazyLock<Vec<CompiledSchema>> = LazyLock::new(|| {
    let plan = |rest: &str| {
        let schema = Schema::parse(&format!("{HEAD}{rest}}}"), Path::new("-")).unwrap();
        CompiledSchema::try_new(&schema).unwrap()
    };
    vec![
        plan(r#""index_base": 1, "parameters": [{"name": "a", "index": 1, "count": 40}]"#),
        plan(
            r#""index_base": 0, "dense": true, "results": "-1..1", "point_of_view": "stm", "ignore": [3],
               "phase": {"middlegame": 0, "endgame": 256}, "scale": {"one": 64},
               "columns": {"phase": 0, "offset": 1, "scale": 2, "weight": 4, "game": 5, "score": 6, "eval": 7, "turn": 8},
               "parameters": [{"name": "a", "mg": 9, "eg": 20, "count": 4}, {"name": "b", "indices": [13, 14]}]"#,
        ),
        plan(
            r#""index_base": 1, "comment": "fen", "phase": "fen", "columns": {"game": "qid"},
               "parameters": [{"name": "a", "index": 2, "phases": "untapered"}, {"name": "b", "eg": 1}]"#,
        ),
    ]
});

fuzz_target!(|data: &[u8]| {
    for plan in PLANS.iter() {
        let set = plan.feature_set();
        let batch = read_lines(data, 1, plan, None);
        assert_eq!(batch.positions() as u64 + batch.bad_lines(), batch.records);
        let visited = batch.for_each(|position, _| {
            assert_eq!(position.ids.len(), position.coefficients.len());
            assert!(position.ids.is_sorted_by(|a, b| a < b));
            assert!(position.ids.iter().all(|id| usize::from(*id) < set.features.len()));
            assert!(position.coefficients.iter().all(|c| c.is_finite() && *c != 0.0));
            assert!(position.phase <= set.phase.max);
            assert!(u32::from(position.scale) * u32::from(set.phase.max) <= u32::from(u16::MAX));
            assert!((0.0..=1.0).contains(&position.labels.result) && position.labels.weight > 0.0);
            Ok::<(), ()>(())
        });
        assert!(visited.is_ok());
    }
    if let Ok(text) = std::str::from_utf8(data) {
        if let Ok(schema) = Schema::parse(text, Path::new("-")) {
            let _ = CompiledSchema::try_new(&schema);
        }
    }
});
