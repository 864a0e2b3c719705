use super::super::marker;
use super::*;
use crate::lexer::lex;

const C: Language = Language::C;
const CSHARP: Language = Language::CSHARP;
const GO: Language = Language::GO;
const PYTHON: Language = Language::PYTHON;
const RUST: Language = Language::RUST;
const FOUR: &[f64] = &[1.0, 2.0, 3.0, 4.0];

fn read(source: &str, language: Language) -> Result<(Vec<f64>, Option<Vec<usize>>), String> {
    let tokens = lex(source, language);
    let marker = &marker::find(source, &tokens)[0];
    let code: Vec<Token> = tokens.into_iter().filter(|token| token.kind != Kind::Comment).collect();
    let array = find(source, &code, (marker.start, marker.end), language).map_err(|wrong| wrong.1)?;
    let values: Result<Vec<f64>, String> = array
        .entries
        .iter()
        .map(|entry| entry.number.as_ref().map(|n| n.value).map_err(Clone::clone))
        .collect();
    Ok((values?, array.shape))
}

#[test]
fn arrays_are_found_and_their_shape_is_seen() {
    for (source, language, values, shape) in [
        ("// gputexel: a\nconstexpr int A[3] = { -1, 2, /* 7 */ +3, };", C, &[-1.0, 2.0, 3.0][..], &[3][..]),
        ("int A[] = { // gputexel: a\n 1, 2 };", C, &[1.0, 2.0], &[2]),
        ("int /* gputexel: a */ A[] = { 1, 2 }, B[] = { 3, 4 };", C, &[1.0, 2.0], &[2]),
        ("int A[] = { 1, 2 }, /* gputexel: b */ B[] = { 3, 4 };", C, &[3.0, 4.0], &[2]),
        ("// gputexel: a\nint a[] = {1, 2}, b;", C, &[1.0, 2.0], &[2]),
        (
            "static const Score P[2][2] = {{S(1,2), S(3,4)}, {S(5,6), S(7,8)}}; // gputexel: a",
            C,
            &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
            &[2, 2, 2],
        ),
        ("// gputexel: a\nconst int x = 82, y;", C, &[82.0], &[]),
        ("enum { A = 82, /* gputexel: a */ B = 9, C };", C, &[9.0], &[]),
        ("// gputexel: a\nint x[2]{ 1, 2 };", C, &[1.0, 2.0], &[2]),
        ("// gputexel: a\nScore x(1, 2);", C, &[1.0, 2.0], &[2]),
        ("// gputexel: a\n#define X S(1, -2)\nint y = 3;", C, &[1.0, -2.0], &[2]),
        ("// gputexel: a\n#ifdef Y\nint X = 3;", C, &[3.0], &[]),
        ("// gputexel: a\nint X[][2] = { { }, { }, {1,2}, {3,4} };", C, FOUR, &[2, 2]),
        ("x = { { // gputexel: a\n 1, 2 }, { 3, 4} };", C, FOUR, &[2, 2]),
        ("x = {\n // gputexel: a\n { 1, 2 }, { 3, 4} };", C, &[1.0, 2.0], &[2]),
        ("x = {\n S(1, 2), // gputexel: a\n S(3, 4) };", C, &[1.0, 2.0], &[2]),
        ("// gputexel: a\n#[rustfmt::skip]\nconst A: [[i32; 2]; 2] = [[1, 2], [3, 4]];", RUST, FOUR, &[2, 2]),
        ("// gputexel: a\nstatic A: &[(i32, i32)] = &[(1, 2), (3, 4)];", RUST, FOUR, &[2, 2]),
        ("// gputexel: a\nlet a = vec![1, 2];", RUST, &[1.0, 2.0], &[2]),
        ("// gputexel: a\nconst A: Score = Score { mg: 1, eg: 2 };", RUST, &[1.0, 2.0], &[2]),
        ("// gputexel: a\nconst A: Score = Score::new(1, 2);", RUST, &[1.0, 2.0], &[2]),
        ("// gputexel: a\n  pawn: 82,", RUST, &[82.0], &[]),
        ("// gputexel: a\nprivate static readonly int[] A = { 1, 2 };", CSHARP, &[1.0, 2.0], &[2]),
        ("// gputexel: a\n[Serializable] static int[] A = new int[2] { 1, 2 };", CSHARP, &[1.0, 2.0], &[2]),
        ("// gputexel: a\nstatic int[] A = [1, 2];", CSHARP, &[1.0, 2.0], &[2]),
        ("// gputexel: a\nstatic ReadOnlySpan<int> A => new[] { 1, 2 };", CSHARP, &[1.0, 2.0], &[2]),
        (
            "// gputexel: a\nstatic int[][] A = { new int[] { 1, 2 }, new int[2] { 3, 4 } };",
            CSHARP,
            FOUR,
            &[2, 2],
        ),
        ("// gputexel: a\nvar A = [2][2]int{\n\t{1, 2},\n\t{3, 4},\n}\nvar B = 1\n", GO, FOUR, &[2, 2]),
        ("const A = -5 // gputexel: a\nconst B = 6\n", GO, &[-5.0], &[]),
        ("// gputexel: a\nA := []Score{{1, 2}, {Mg: 3, Eg: 4}}\n", GO, FOUR, &[2, 2]),
        ("# gputexel: a\nA: list = [\n    (1, 2),\n    (3, 4),\n]\nB = 2\n", PYTHON, FOUR, &[2, 2]),
        ("A = (1, 2)  # gputexel: a\nB = 2", PYTHON, &[1.0, 2.0], &[2]),
        ("# gputexel: a\nA = np.array([[1, 2], [3, 4]], dtype=np.int16, ndmin=2)", PYTHON, FOUR, &[2, 2]),
        ("# gputexel: a\nA = array.array('h', [1, 2])\n", PYTHON, &[1.0, 2.0], &[2]),
        ("# gputexel: a\nA = [S(mg=1, eg=2), S(mg=3, eg=4)]\n", PYTHON, FOUR, &[2, 2]),
        ("// gputexel: a\ntemplate<class T = int> const array<T, 2> A = {1, 2};", C, &[1.0, 2.0], &[2]),
        ("// gputexel: a\nstatic int[,] A = new int[2, 2] { { 1, 2 }, { 3, 4 } };", CSHARP, FOUR, &[2, 2]),
        ("D = {'x': [\n  # gputexel: a\n  [1, 2],\n ]}", PYTHON, &[1.0, 2.0], &[2]),
    ] {
        assert_eq!(read(source, language), Ok((values.to_vec(), Some(shape.to_vec()))), "{source}");
    }
}

#[test]
fn what_cannot_be_replaced_is_named() {
    for (source, language, expected) in [
        ("// gputexel: a\n", C, "no array follows"),
        ("// gputexel: a\nextern int a[64];", C, "'extern int a[64]' is not a number"),
        ("// gputexel: a\nint a[2] = { 1, 2", C, "'{' is not closed before the end"),
        ("// gputexel: a\nint a[2] = { 1, (2 };", C, "'(' is closed by '}'"),
        ("// gputexel: a\nint a[2] = { 5*3, 2 };", C, "'5*3' is not a number"),
        ("# gputexel: a\nA = f([1, 2], 3 * 4)", PYTHON, "'3 * 4' is not a number"),
        ("// gputexel: a\nint a[2] = { N, 2 };", C, "'N' is not a number"),
        ("// gputexel: a\nint a[2] = { (int)5, 2 };", C, "'(int)5' is not a number"),
        ("// gputexel: a\nint a[2] = { [1] = 5, 2 };", C, "'[1] =' places an entry"),
        ("// gputexel: a\nint a[2] = {\n#if X\n 5,\n#endif\n 2 };", C, "line of the preprocessor"),
        ("// gputexel: a\nint a[2] = { };", C, "the array is empty"),
        ("// gputexel: a\nint a[3] = { .x = 5, .y = 2, .z = 1 };", C, "entries with names"),
        ("// gputexel: a\nScore a = { .eg = 1, .mg = 2 };", C, "'eg' stands before 'mg'"),
        ("// gputexel: a\n#define S(a, b) 5", C, "a macro with arguments"),
        ("// gputexel: a\nint f(int x) { return x; }", C, "'{ return x; }' is not a number"),
        ("int a = 1; int b = 2; // gputexel: a", C, "more than one thing"),
        ("// gputexel: a\nstatic const int a[2] = {1, 2}, b[2] = {3, 4};", C, "declaration goes on with 'b'"),
        ("// gputexel: a\nint a = 1, b = 2;", C, "declaration goes on with 'b'"),
        ("int x = {\n 1\n }; // gputexel: a\nint y = 2;", C, "behind the end"),
        ("// gputexel: a\nconst A: [i32; 64] = [0; 64];", RUST, "'[0; 64]' is not a number"),
        ("// gputexel: a\nconst A: i32 = B[5];", RUST, "'B[5]' is not a number"),
        ("x = {\n { 9, 8 }, { // gputexel: a\n 3, 4} };", C, "more than one thing"),
    ] {
        let why = read(source, language).unwrap_err();
        assert!(why.contains(expected), "{source}: {why}");
    }
    let deep = format!("// gputexel: a\nx = {}1{};", "{".repeat(99), "}".repeat(99));
    assert!(read(&deep, C).unwrap_err().contains("too deep"));
}
