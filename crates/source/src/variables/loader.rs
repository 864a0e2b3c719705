//! The header and the module that read a file of values.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use super::{Parameter, VARIABLE};

pub(super) const HEADER: &str = "gputexel_values.h";

pub(super) const MODULE: &str = "gputexel_values.rs";

/// Way from a source to the files in a folder above it: empty, or `../` some times.
pub(super) fn path_up(folder: &Path, source: &Path) -> String {
    let below = source.strip_prefix(folder).map_or(1, |path| path.components().count());
    "../".repeat(below.saturating_sub(1))
}

/// Header: a structure of all values, a reader of the file, and a macro for each use of a value.
pub(super) fn header(parameters: &[Parameter]) -> String {
    let (mut fields, mut starts, mut rows) = (String::new(), String::new(), String::new());
    for own in parameters {
        let Parameter { name, value, whole, .. } = own;
        let _ = writeln!(fields, "    {} {name};", if *whole { "int" } else { "double" });
        let _ = writeln!(starts, "    {},", if *whole { format!("{value}") } else { format!("{value:?}") });
        let pointers = if *whole {
            format!("&gputexel_values.{name}, 0")
        } else {
            format!("0, &gputexel_values.{name}")
        };
        let _ = writeln!(rows, "        {{\"{name}\", {pointers}}},");
    }
    HEADER_TEXT
        .replace("@VARIABLE@", VARIABLE)
        .replace("@FIELDS@", &fields)
        .replace("@STARTS@", &starts)
        .replace("@ROWS@", &rows)
        .replace("@COUNT@", &parameters.len().to_string())
}

const HEADER_TEXT: &str = r#"/* Values for tuning, written by 'gputexel patch expose' and not needed after 'gputexel patch restore'. At the start of
   the program they are read from the file that the environment variable @VARIABLE@ names, lines of NAME VALUE;
   without it, they are those of the source. */
#ifndef GPUTEXEL_VALUES_H
#define GPUTEXEL_VALUES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
@FIELDS@} gputexel_values = {
@STARTS@};

#define GPUTEXEL(name) (gputexel_values.name)

/* Ends the program with one line. */
static void gputexel_stop(const char *path, int line, const char *what, const char *name) {
    fprintf(stderr, "%s:%d: %s%s%s\n", path, line, what, *name ? " " : "", name);
    exit(1);
}

/* Reads the values, once. */
static void gputexel_read(void) {
    static const struct {
        const char *name;
        int *whole;
        double *fraction;
    } all[] = {
@ROWS@    };
    static char seen[@COUNT@];
    static int done;
    const char *const path = done ? NULL : getenv("@VARIABLE@");
    char line[512], name[256], number[128], more, *end;
    int at = 0, words;
    size_t i;
    FILE *file;
    done = 1;
    if (!path) return;
    file = fopen(path, "r");
    if (!file) gputexel_stop(path, 0, "cannot be opened", "");
    while (fgets(line, sizeof line, file)) {
        double value;
        at++;
        if (!strchr(line, '\n') && !feof(file)) gputexel_stop(path, at, "the line is too long", "");
        words = sscanf(line, "%255s %127s %c", name, number, &more);
        if (words < 1 || *name == '#') continue;
        if (words != 2) gputexel_stop(path, at, "expected a name and a number", "");
        for (i = 0; i < @COUNT@ && strcmp(all[i].name, name); i++) {}
        if (i == @COUNT@) gputexel_stop(path, at, "there is no value called", name);
        if (seen[i]++) gputexel_stop(path, at, "there is another value of", name);
        value = strtod(number, &end);
        if (*end || value - value != 0) gputexel_stop(path, at, "no number for", name);
        if (all[i].fraction) {
            *all[i].fraction = value;
        } else if (value < -2147483647.0 || value > 2147483647.0 || value != (int)value) {
            gputexel_stop(path, at, "no whole number for", name);
        } else {
            *all[i].whole = (int)value;
        }
    }
    if (ferror(file)) gputexel_stop(path, at, "cannot be read", "");
    fclose(file);
}

#ifdef __cplusplus
/* Reads before the tables below this line are initialized. */
static const struct gputexel_reader {
    gputexel_reader() { gputexel_read(); }
} gputexel_reads_values;
#elif defined(__GNUC__)
/* A function that fills an array before main, and before the program's own functions that run before main. */
#define GPUTEXEL_FILLS(function) __attribute__((constructor(101))) static void function(void)
GPUTEXEL_FILLS(gputexel_reads_values) { gputexel_read(); }
#else
#error "gputexel: compile as C++, or C with GCC or Clang"
#endif

#endif
"#;

pub(super) fn module(parameters: &[Parameter]) -> String {
    let mut rows = String::new();
    for Parameter { name, value, whole, .. } in parameters {
        let _ = writeln!(rows, "    (\"{name}\", {value:?}, {whole}),");
    }
    MODULE_TEXT.replace("@VARIABLE@", VARIABLE).replace("@ROWS@", &rows)
}

const MODULE_TEXT: &str = r#"//! Values for tuning, written by `gputexel patch expose` and not needed after `gputexel patch restore`. They are read
//! once from the file that the environment variable @VARIABLE@ names, lines of NAME VALUE; without it, they are
//! those of the source.

#[allow(unused_imports)] // for crates without the prelude of std
use std::prelude::v1::*;
use std::sync::LazyLock;

/// Name, value in the source, and whether only whole numbers are allowed.
const ALL: &[(&str, f64, bool)] = &[
@ROWS@];

static VALUES: LazyLock<Vec<f64>> = LazyLock::new(|| match std::env::var_os("@VARIABLE@") {
    None => ALL.iter().map(|own| own.1).collect(),
    Some(path) => read(std::path::Path::new(&path)).unwrap_or_else(|error| {
        eprintln!("{}:{error}", path.display());
        std::process::exit(1)
    }),
});

pub trait Value {
    /// `None` if it does not fit.
    fn of(value: f64) -> Option<Self>
    where
        Self: Sized;
}

macro_rules! values {
    ($($whole:ty),*; $($fraction:ty),*) => {
        $(impl Value for $whole {
            fn of(value: f64) -> Option<Self> {
                (value as Self as f64 == value).then_some(value as Self)
            }
        })*
        $(impl Value for $fraction {
            fn of(value: f64) -> Option<Self> {
                Some(value as Self)
            }
        })*
    };
}
values!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize; f32, f64);

/// Value by its place in the list, times 1 or −1.
#[inline]
pub fn get<T: Value>(at: usize, sign: f64) -> T {
    T::of(VALUES[at] * sign).unwrap_or_else(|| {
        eprintln!("@VARIABLE@: {} does not fit the type of {}", VALUES[at], ALL[at].0);
        std::process::exit(1)
    })
}

fn read(path: &std::path::Path) -> Result<Vec<f64>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("0: {error}"))?;
    let mut values: Vec<Option<f64>> = vec![None; ALL.len()];
    for (line, at) in text.lines().zip(1..) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[name, number] = &words[..] else {
            if words.is_empty() || words[0].starts_with('#') {
                continue;
            }
            return Err(format!("{at}: expected a name and a number"));
        };
        if name.starts_with('#') {
            continue;
        }
        let Some(place) = ALL.iter().position(|own| own.0 == name) else {
            return Err(format!("{at}: there is no value called {name}"));
        };
        let value = number.parse::<f64>().ok().filter(|value| value.is_finite());
        let Some(value) = value else { return Err(format!("{at}: no number for {name}")) };
        if ALL[place].2 && (value.fract() != 0.0 || value.abs() > f64::from(i32::MAX)) {
            return Err(format!("{at}: no whole number for {name}"));
        }
        if values[place].replace(value).is_some() {
            return Err(format!("{at}: there is another value of {name}"));
        }
    }
    Ok(values.iter().zip(ALL).map(|(value, own)| value.unwrap_or(own.1)).collect())
}
"#;
