use super::*;

fn exposed(files: &[(&str, &str)]) -> std::result::Result<Vec<String>, String> {
    let folder = Folder::new();
    let paths: Vec<PathBuf> = files.iter().map(|(name, text)| folder.file(name, text)).collect();
    let plan = plan_expose(&paths).map_err(|error| error.to_string().replace(&folder.prefix(), ""))?;
    let text = |path: &PathBuf| {
        let path = path.canonicalize().unwrap();
        let change = plan.plan.changes.iter().find(|change| change.path == path);
        change.map_or_else(
            || std::fs::read_to_string(&path).unwrap(),
            |own| String::from_utf8(own.after.clone()).unwrap(),
        )
    };
    Ok(paths.iter().map(text).collect())
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("gputexel-variables-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn prefix(&self) -> String {
        format!("{}/", self.0.display())
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_cannot_be_a_variable_is_refused() {
    for (name, source, expected) in [
        (
            "a.c",
            "struct T {\n  unsigned a : 5; // gputexel: a number 1\n};",
            "a.c:2: 'a' is a member of a structure",
        ),
        (
            "a.c",
            "// gputexel: a\nstatic const int A = 5, B = 6;",
            "a.c:2: the marker's declaration goes on with",
        ),
        ("a.c", "// gputexel: a\nconst unsigned A = 5u;", "has the suffix 'u'"),
        (
            "a.rs",
            "// gputexel: a\nconst A: i32 = 5;",
            "a.rs: is a source in Rust; Rust engines trace themselves: docs/selftrace.md",
        ),
        ("a.c", "int a;", "has no marker"),
        (
            "a.cpp",
            "const int A = 5; // gputexel: a",
            "a.cpp: is a source in C++; C++ engines trace themselves: docs/selftrace.md",
        ),
        ("a.py", "A = 5 # gputexel: a", "is no source in C"),
    ] {
        let error = exposed(&[(name, source)]).unwrap_err();
        assert!(error.contains(expected), "{source}: {error}");
    }
}

#[test]
fn constants_come_back_with_their_values() {
    let folder = Folder::new();
    let source = "// gputexel: a.mg\nstatic const int A[2] = {5, -6}; /* kept */\n// gputexel: b.both colors negated pieces pnbrq\nint B[10] = {1, 2, 3, 4, 5, -1, -2, -3, -4, -5};\n";
    let path = folder.file("a.c", source);
    let files = [path.clone()];
    let plan = plan_expose(&files).unwrap();
    crate::write(&plan.plan, &plan.folder, "expose").unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().contains("GPUTEXEL_FILLS(gputexel_fills_A)"));
    assert!(plan_expose(&files).unwrap_err().to_string().contains("has variables already"));
    let params = folder.0.join(PARAMS);
    let text = std::fs::read_to_string(&params).unwrap();
    std::fs::write(
        &params,
        text.replace("a_1_mg, int, -6.0", "a_1_mg, int, 7.4")
            .replace("b_queen, int, 5.0", "b_queen, int, 9.0"),
    )
    .unwrap();
    let plan = plan_restore(&files, Some(&params)).unwrap();
    let after = String::from_utf8(plan.plan.changes[0].after.clone()).unwrap();
    assert_eq!(after, source.replace("-6}", "7}").replace(" 5, -1", " 9, -1").replace("-5}", "-9}"));
    let other = folder.file("o.params", "a_1_mgg, int, 1, 0, 2, 1, 0.002\n");
    let error = plan_restore(&files, Some(&other)).unwrap_err().to_string();
    assert!(error.contains("'a_1_mgg' has no marker in these sources; did you mean 'a_1_mg'?"), "{error}");
    let plan = plan_restore(&files, None).unwrap();
    assert_eq!(plan.plan.changes[0].after, source.as_bytes());
}

proptest::proptest! {
    #[test]
    fn no_source_panics(parts in proptest::collection::vec(proptest::sample::select(vec![
        "// gputexel: a", "// gputexel: b.mg", " number 1", "\n", "\n", "const ", "static ", "constexpr ", "int ", "A", "B", "[2]",
        " = ", "{1, 2}", "5", "-6", ";", "{", "}", "(", ")", "#define ", "#if ", "#include <a>", "struct ", "enum ", ",",
    ]), 0..30)) {
        let _ = exposed(&[("a.c", &parts.concat())]);
    }
}

#[test]
fn extern_declarations_are_constant_no_longer_than_definitions() {
    let header = "extern const int v[2];\nextern const int other;\n";
    let texts =
        exposed(&[("a.c", "// gputexel: v.both\nconst int v[2] = {3, 4};\n"), ("h.h", header)]).unwrap();
    assert_eq!(texts[1], "extern /*gputexel=const*/ int v[2];\nextern const int other;\n");
    assert_eq!(tags::without(&texts[1]), header);
}

#[test]
fn declarations_may_have_attributes() {
    for declaration in [
        "[[maybe_unused]] constexpr static int A[2] = {1, 2};",
        "_Alignas(64) const int A[2] = {1, 2};",
        "static const int A[2] __attribute__((aligned(64))) = {1, 2};",
    ] {
        let source = format!("// gputexel: v.both\n{declaration}\n");
        let texts = exposed(&[("a.c", &source)]).unwrap_or_else(|why| panic!("{declaration}: {why}"));
        assert!(texts[0].contains("GPUTEXEL_FILLS(gputexel_fills_A)"), "{}", texts[0]);
        assert!(texts[0].contains("int gputexel_new[2]"), "{}", texts[0]);
    }
    let error = exposed(&[("a.c", "int x; const int A = /* gputexel: v */ 1, B = A < 2;")]).unwrap_err();
    assert!(error.contains("several names"), "{error}");
}

#[test]
fn sources_without_variables_may_be_named_when_restoring() {
    let folder = Folder::new();
    let used = folder.file("b.c", "int f(void) { return 1; }\n");
    assert!(plan_restore(std::slice::from_ref(&used), None).is_err());
    let own = folder.file("a.c", "/*gputexel=const*/ int v = 3; // gputexel: v\n");
    let plan = plan_restore(&[used, own], None).unwrap();
    assert_eq!((plan.files.len(), plan.parameters), (1, 1));
}
