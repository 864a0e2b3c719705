//! Configurations as they are written, and everything that they may not say.

use std::path::Path;

use super::*;
use crate::lists::ListEntry;

const SMALL: &str = "[run]
method = \"spsa\"
iterations = 100

[engine]
command = \"toga2\"

[games]
limit = \"depth=3\"

[[parameter]]
name = \"King Safety\"
start = 20
min = 0
max = 400
c_end = 20
r_end = 0.002
";

fn parse(text: &str) -> Result<RunConfig> {
    RunConfig::parse(text, Path::new("x.toml"))
}

fn full() -> RunConfig {
    let options = [
        ("Hash", OptionValue::Whole(16)),
        ("Own Book", OptionValue::Flag(false)),
        ("Style", OptionValue::Text("\"wild\" \\ 'x' # not a comment".to_string())),
        ("Scale", OptionValue::Number(2.0)),
    ];
    let variable = |name: &str| {
        let bare =
            ListEntry { min: Some(-1.5), max: Some(1e16), c_end: Some(10.0), ..ListEntry::new(name, 0.5) };
        bare.variable().unwrap()
    };
    RunConfig {
        run: RunSection {
            method: MethodKind::Bspsa,
            iterations: 12_345,
            a: Some(7.5),
            alpha: 0.6,
            gamma: 1e-9,
            tau: Some(0.625),
            draw_rate: Some(0.25),
            rounding: Rounding::Stochastic,
            as_published: true,
            seed: i64::MAX as u64,
        },
        engine: EngineSection {
            command: Some("'my engine' -x".to_string()),
            name: Some("A #1".to_string()),
            start_deadline: Some(2.5),
            options: options.map(|(name, value)| (name.to_string(), value)).into(),
            ..EngineSection::default()
        },
        opponent: Some(EngineSection {
            params: Some("material:100,300,320,500,700".to_string()),
            hash_mib: Some(4),
            ..EngineSection::default()
        }),
        games: GamesSection {
            limit: "time=10+0.1".to_string(),
            time_margin_ms: Some(50),
            deadline: Some(30.0),
            concurrency: Some(3),
            book: Some("my book.epd".into()),
            book_plies: Some(8),
            draw: Some(DrawRule { after_move: 0, plies: 8, score_cp: 4 }),
            win: Some(WinRule { plies: 8, score_cp: 650 }),
            max_plies: Some(300),
            max_failures: Some(5),
            pgn: Some("games_$THREAD.pgn".into()),
            log: Some("values.csv".into()),
        },
        parameters: vec![
            Variable { s: Some(30.0), sigma: Some(1e-7), simul_elo: 2.5, ..variable("King Safety") },
            Variable {
                integer: false,
                s: Some(0.1),
                sigma: Some(5.0),
                r_end: Some(0.002),
                ..variable("q[3]")
            },
        ],
    }
}

#[test]
fn configurations_are_read_as_they_are_written() {
    let config = full();
    config.validate().unwrap();
    let text = config.to_toml().unwrap();
    assert_eq!(parse(&text).unwrap(), config, "{text}");
    // Everything left out, too.
    let small = parse(SMALL).unwrap();
    assert_eq!(small.run.gamma, 0.101);
    assert!(small.parameters[0].integer);
    let text = small.to_toml().unwrap();
    assert_eq!(parse(&text).unwrap(), small, "{text}");
    for key in ["method", "iterations", "draw_rate", "concurrency", "max_failures", "pgn"] {
        assert!(text.lines().any(|line| line.starts_with('#') && line.contains(key)), "{key}: {text}");
    }
}

#[test]
fn relative_paths_begin_at_the_folder_of_the_file() {
    let text = full()
        .to_toml()
        .unwrap()
        .replace("'my engine' -x", "bin/engine -x")
        .replace("\"material:100,300,320,500,700\"", "\"p.json\"");
    let config = RunConfig::parse(&text, Path::new("runs/a/x.toml")).unwrap();
    assert_eq!(config.engine.command.as_deref(), Some("runs/a/bin/engine -x"));
    assert_eq!(config.opponent.unwrap().params.as_deref(), Some("runs/a/p.json"));
    assert_eq!(config.games.book.as_deref(), Some(Path::new("runs/a/my book.epd")));
    assert_eq!(config.games.pgn.as_deref(), Some(Path::new("runs/a/games_$THREAD.pgn")));
    assert_eq!(config.games.log.as_deref(), Some(Path::new("runs/a/values.csv")));
    let unchanged = RunConfig::parse(&full().to_toml().unwrap(), Path::new("runs/a/x.toml")).unwrap();
    assert_eq!(unchanged.opponent, full().opponent);
    assert_eq!(unchanged.engine.command, full().engine.command);
}

#[test]
fn bad_configurations_are_refused() {
    let cases = [
        ("iterations = 100", "iterations = 0", "x.toml: [run] iterations 0: must be 1 to"),
        ("iterations = 100", "iterations = -1", "x.toml:3: "),
        ("iterations = 100", "alpha = 1", "x.toml:1: missing field `iterations`"),
        ("iterations = 100", "iterations = 100\ngama = 1", "x.toml:4: unknown field `gama`"),
        ("iterations = 100", "iterations = 100\n\nalpha = nan", "x.toml: alpha NaN: must be"),
        ("iterations = 100", "iterations = 100\ntau = 0", "x.toml: tau 0: must be"),
        ("iterations = 100", "iterations = 100\ndraw_rate = 1.0", "x.toml: draw rate 1"),
        ("iterations = 100", "iterations = 100\niterations = 100", "x.toml:4: duplicate key"),
        ("\"spsa\"", "\"spas\"", "x.toml:2: unknown variant `spas`"),
        ("\"spsa\"", "\"bspsa\"", "x.toml: King Safety: bspsa needs s"),
        ("command = \"toga2\"", "", "x.toml: [engine] needs a command, or params"),
        (
            "command = \"toga2\"",
            "command = \"a\"\nparams = \"b\"",
            "x.toml: [engine] has a command and params",
        ),
        ("command = \"toga2\"", "command = \"'a\"", "x.toml: engine ''a': a quote"),
        ("command = \"toga2\"", "params = \"material:1,2\"", "x.toml: prior 'material:1,2'"),
        ("\"toga2\"", "\"toga2\"\nhash_mib = 4", "x.toml: [engine] hash_mib: is for"),
        ("\"toga2\"", "\"toga2\"\nstart_deadline = inf", "x.toml: [engine] start_deadline inf: must be"),
        ("\"toga2\"", "\"toga2\"\n[engine.options]\n\" \" = 1", "x.toml: [engine] the name of an option"),
        ("\"toga2\"", "\"toga2\"\n[engine.options]\nx = nan", "x.toml: [engine] option x: NaN is not"),
        (
            "\"toga2\"",
            "\"toga2\"\noptions = { \"king safety\" = 1 }",
            "x.toml: [engine] option king safety: is tuned",
        ),
        ("\"depth=3\"", "\"depth=0\"", "x.toml: limit 'depth=0'"),
        ("\"depth=3\"", "\"depth=3\"\nconcurrency = 0", "x.toml: [games] concurrency: 0 is not"),
        ("\"depth=3\"", "\"depth=3\"\ndeadline = 0", "x.toml: [games] deadline 0: must be more"),
        ("\"depth=3\"", "\"depth=3\"\nbook_plies = 4", "x.toml: [games] book_plies: there is no book"),
        ("\"depth=3\"", "\"depth=3\"\nmax_plies = 0", "x.toml: [games] max_plies: must be at least 1"),
        ("\"depth=3\"", "\"depth=3\"\nbook = \"\"", "x.toml: [games] book: is not a valid UTF-8 path"),
        (
            "\"depth=3\"",
            "\"depth=3\"\npgn = \"a\"\nlog = \"a\"",
            "x.toml: [games] log: is the file of the games",
        ),
        (
            "\"depth=3\"",
            "\"depth=3\"\nwin = { plies = 1, score_cp = 0 }",
            "x.toml: [games] win.score_cp: must",
        ),
        (
            "\"depth=3\"",
            "\"depth=3\"\ndraw = { after_move = 1, plies = 0, score_cp = 0 }",
            "x.toml: [games] draw.plies: must",
        ),
        ("\"depth=3\"", "\"depth=3\"\nwin = { plies = 1, score = 0 }", "x.toml:10: unknown field `score`"),
        ("start = 20", "start = 500", "x.toml: King Safety: start 500 is outside"),
        ("c_end = 20", "c_end = 0", "x.toml: King Safety: c_end 0: must be"),
        ("c_end = 20", "c = 20", "x.toml:16: unknown field `c`"),
        (
            "r_end = 0.002\n",
            "r_end = 0.002\n[[parameter]]\nname = \"king safety\"\nstart = 1\nmin = 0\nmax = 2\nc_end = 1\n",
            "x.toml: king safety: is listed twice",
        ),
        ("name = \"King Safety\"", "name = \" \"", "x.toml: the name of a parameter"),
        ("[games]\n", "[games\n", "x.toml:8: "),
    ];
    for (from, to, expected) in cases {
        assert!(SMALL.contains(from), "{from}");
        let error = parse(&SMALL.replacen(from, to, 1)).unwrap_err();
        assert!(matches!(error, Error::Input { .. }), "{error:?}");
        let error = error.to_string();
        assert!(error.starts_with(expected) && !error.contains('\n'), "{error:?} instead of {expected:?}");
    }
    let none = &SMALL[..SMALL.find("[[parameter]]").unwrap()];
    let none = parse(&format!("parameter = []\n{none}")).unwrap_err().to_string();
    assert!(none.contains("no parameter to tune"), "{none}");
}

struct Ini(tempfile::TempDir);

const MAIN: &str = "# games\n[Main]\nSimulate = 0\nVariables = v.var\nLog = out/v.log\nGameLog = g_$THREAD.pgn\n\
                    Iterations = 50000\nA = 5000\nGamma = 0.101\nAlpha = 0.602\n";
const ENGINE: &str = "; play\n[Engine]\nEngine1 = ./my/engine -x\nEngine2 = toga2 ; the other\nEPDBook = b.epd\n\
                      BaseTime = 1000\nIncTime = 50\nConcurrency = 4\nDrawScoreLimit = 4\nDrawMoveLimit = 8\n\
                      WinScoreLimit = 650\nWinMoveLimit = 8\n";

impl Ini {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("v.var"), "Aggressiveness,30,0,200,10,0.0020,0\n").unwrap();
        std::fs::write(folder.path().join("b.var"), "Aggressiveness,30,0,200,10,30,30,2\n").unwrap();
        Self(folder)
    }

    fn open(&self, text: &str) -> Result<Conf> {
        let path = self.0.path().join("x.conf");
        std::fs::write(&path, text).unwrap();
        Conf::open(&path)
    }
}

#[test]
fn games_of_zamar_are_read() {
    let ini = Ini::new();
    let text = format!("{MAIN}{ENGINE}");
    let Conf::Games(config) = ini.open(&text).unwrap() else { panic!("games") };
    let at = |name: &str| Some(ini.0.path().join(name));
    let RunSection { method, iterations, a, alpha, gamma, tau, rounding, as_published, .. } = config.run;
    assert_eq!((method, iterations, a, tau), (MethodKind::Spsa, 50_000, Some(5000.0), None));
    assert_eq!((alpha, gamma, rounding, as_published), (0.602, 0.101, Rounding::Away, false));
    let command = shlex::split(config.engine.command.as_deref().unwrap()).unwrap();
    assert_eq!(Path::new(&command[0]), at("./my/engine").unwrap());
    assert_eq!(command[1], "-x");
    assert_eq!(config.opponent.as_ref().unwrap().command.as_deref(), Some("toga2"));
    assert_eq!(config.games.limit, "time=1+0.05");
    assert_eq!((config.games.book.clone(), config.games.log.clone()), (at("b.epd"), at("out/v.log")));
    assert_eq!((config.games.pgn.clone(), config.games.concurrency), (at("g_$THREAD.pgn"), Some(4)));
    assert_eq!(config.games.draw, Some(DrawRule { after_move: 0, plies: 8, score_cp: 4 }));
    assert_eq!(config.games.win, Some(WinRule { plies: 8, score_cp: 650 }));
    assert_eq!((config.parameters.len(), config.parameters[0].r_end), (1, Some(0.002)));
    // It can be kept as TOML.
    assert_eq!(RunConfig::parse(&config.to_toml().unwrap(), Path::new("/x.toml")).unwrap(), *config);
    let same = text.replace("./my/engine -x", "toga2");
    let Conf::Games(config) = ini.open(&same).unwrap() else { panic!("games") };
    assert_eq!(config.opponent, None);
    let deep = text.replace("BaseTime = 1000\nIncTime = 50", "BaseTime = 0\nIncTime = 0\nMaxDepth = 6");
    let Conf::Games(config) = ini.open(&deep).unwrap() else { panic!("games") };
    assert_eq!(config.games.limit, "depth=6");
}

#[test]
fn simulations_and_bspsa_are_read() {
    let ini = Ini::new();
    let text = MAIN.replace("Simulate = 0", "Simulate = 1");
    let Conf::Simulation(found) = ini.open(&text).unwrap() else { panic!("simulation") };
    assert_eq!((found.settings.schedule.stability, found.draw_rate), (5000.0, 0.0));
    let path = ini.0.path().join("x.conf");
    assert!(RunConfig::open(&path).unwrap_err().to_string().contains("asks for a simulation, not for games"));
    let text = text.replace("A = 5000\n", "").replace("Alpha = 0.602", "Tau = .6").replace("v.var", "b.var");
    let Conf::Simulation(found) = ini.open(&text).unwrap() else { panic!("simulation") };
    assert_eq!((found.settings.method, found.settings.noise), (MethodKind::Bspsa, Noise::Tau(0.6)));
    assert!((found.draw_rate - 0.82).abs() < 1e-12);
    assert_eq!((found.variables[0].s, found.variables[0].simul_elo), (Some(30.0), 2.0));
    let text = format!("{}{ENGINE}", text.replace("Simulate = 1", "Simulate = 0"));
    let Conf::Games(config) = ini.open(&text).unwrap() else { panic!("games") };
    assert_eq!((config.run.method, config.run.tau), (MethodKind::Bspsa, Some(0.6)));
}

#[test]
fn bad_inis_are_refused() {
    let ini = Ini::new();
    let good = format!("{MAIN}{ENGINE}");
    let cases = [
        ("Iterations = 50000\n", "", "x.conf: Iterations: is missing"),
        ("WinMoveLimit = 8\n", "", "x.conf: WinMoveLimit: is missing"),
        (
            "Iterations = 50000",
            "Iterations = 0",
            "x.conf:7: Iterations = 0: must be an integer of at least 1",
        ),
        ("Iterations = 50000", "Iterations = 1.5", "x.conf:7: Iterations = 1.5: must be an integer"),
        ("Iterations = 50000", "Iterations =", "x.conf:7: Iterations = : has no value"),
        ("Gamma = 0.101", "Gamma = nan", "x.conf:9: Gamma = nan: must be a number"),
        ("A = 5000", "A = 5000\nA = 1", "x.conf:9: A: is set in line 8"),
        ("Alpha = 0.602", "alpha = 0.602", "x.conf:10: alpha: is not a key"),
        ("Alpha = 0.602", "Alpha = 0.602\nTau = 0.6", "x.conf:8: A = 5000: Tau makes this"),
        (
            "A = 5000\nGamma = 0.101\nAlpha = 0.602",
            "Gamma = 0.101\nTau = 0.6",
            "v.var:1: 7 columns; expected 8",
        ),
        ("v.var", "b.var", "b.var:1: 8 columns; expected 7"),
        ("v.var", "none.var", "none.var: "),
        ("Simulate = 0", "Simulate = yes", "x.conf:3: Simulate = yes: must be 0"),
        ("[Engine]", "[Engines]", "x.conf:12: '[Engines]' is neither"),
        ("Concurrency = 4", "Concurrency = 0", "x.conf:18: Concurrency = 0: must be an integer"),
        ("BaseTime = 1000", "BaseTime = 0", "x.conf:16: BaseTime = 0: must be milliseconds"),
        ("IncTime = 50", "IncTime = 50\nMaxDepth = 8", "x.conf:18: MaxDepth = 8: needs BaseTime"),
        ("DrawMoveLimit = 8", "DrawMoveLimit = 5000000000", "x.conf:20: DrawMoveLimit = 5000000000: must be"),
        ("toga2 ;", "'toga ;", "x.conf: engine ''toga': a quote"),
    ];
    for (from, to, expected) in cases {
        assert!(good.contains(from), "{from}");
        let error = ini.open(&good.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error:?} instead of {expected:?}");
    }
    let path = ini.0.path().join("y.conf");
    std::fs::write(&path, b"[Main]\nLog = \xff\n").unwrap();
    assert!(Conf::open(&path).unwrap_err().to_string().ends_with("y.conf:2: is not UTF-8 text"));
}
