//! Writing the TOML file.

use serde::Serialize;

use super::{EngineSection, GamesSection, RunConfig, RunSection};
use crate::toml_text::parameter_table;
use gputexel_io::{Error, Result};

const ABOUT: &str = "\
# Configuration of 'gputexel spsa run'. Paths are relative to the folder of this file. Keys, with the defaults of
# optional ones in brackets:
#
# [run]      method: spsa, bspsas or bspsa; iterations: pairs of games; a: stability constant of spsa [iterations / 10];
#            alpha, gamma: decay exponents of gain and perturbation [0.602, 0.101]; tau: noise of a pair for bspsas and
#            bspsa, sqrt(2 - 2 draw rate) [measured, from draw_rate, 0.5, on]; rounding to integers: away (half away
#            from zero) or stochastic [away]; as_published: update with the intended values, not those played [false];
#            seed [1]
# [engine]   command of a UCI engine, quoted as in a shell, with options = { Hash = 16 } and start_deadline, seconds to
#            become ready [30]; or params of the built-in engine, a file or material, with hash_mib [1]; name
# [opponent] the same for the engine of the other side, if it is another
# [games]    limit: nodes=5000, depth=8, move-time=100 (ms) or time=10+0.1 (s); time_margin_ms [0; 100 with move-time];
#            deadline: seconds after which an engine without a time limit is hung [60]; concurrency: pairs at a time
#            [number of cores]; book: EPD, FEN or PGN [the bundled one]; book_plies of a PGN [16];
#            draw = { after_move = 40, plies = 8, score_cp = 10 }; win = { plies = 6, score_cp = 600 }; max_plies: draw
#            after so many [no limit]; max_failures: pairs in a row that engines may fail in [20]; pgn: file for the
#            games, $THREAD is the thread number [not kept]; log: additional file for the values [none]
# [[parameter]] start, min, max, c_end and s in units of the parameter. c_end: distance of both sides from the value at
#            the last pair; r_end: gain of spsa there; s: expected distance of the best value from the start; sigma:
#            width of the strength curve (9.9 s / sqrt(Elo lost at s)); simul_elo: Elo lost at 100, for simulations

";

#[derive(Serialize)]
struct Sections<'a> {
    run: &'a RunSection,
    engine: &'a EngineSection,
    #[serde(skip_serializing_if = "Option::is_none")]
    opponent: Option<&'a EngineSection>,
    games: &'a GamesSection,
}

impl RunConfig {
    /// The text of a file that [`Self::parse`] reads as the same, with comments for people.
    ///
    /// # Errors
    /// [`Error::Usage`] for a seed beyond the numbers of TOML.
    pub fn to_toml(&self) -> Result<String> {
        let Self { run, engine, opponent, games, parameters } = self;
        let sections = Sections { run, engine, opponent: opponent.as_ref(), games };
        let text = toml::to_string(&sections).map_err(|error| Error::Usage(error.to_string()))?;
        let tables = parameters.iter().map(|variable| format!("\n{}", parameter_table(variable)));
        Ok(format!("{ABOUT}{text}{}", tables.collect::<String>()))
    }
}
