//! The header that reads a file of values.

use std::path::Path;

use super::{Parameter, VARIABLE};

pub(super) const HEADER: &str = "gputexel_values.h";

/// Way from a source to the header in a folder above it: empty, or `../` some times.
pub(super) fn path_up(folder: &Path, source: &Path) -> String {
    let below = source.strip_prefix(folder).map_or(1, |path| path.components().count());
    "../".repeat(below.saturating_sub(1))
}

/// Header: a structure of all values, a reader of the file, and a macro for each use of a value.
pub(super) fn header(parameters: &[Parameter]) -> String {
    let (mut fields, mut starts, mut rows) = (String::new(), String::new(), String::new());
    for own in parameters {
        let Parameter { name, value, whole, .. } = own;
        fields += &format!("    {} {name};\n", if *whole { "int" } else { "double" });
        starts += &format!("    {},\n", if *whole { format!("{value}") } else { format!("{value:?}") });
        let pointers = if *whole {
            format!("&gputexel_values.{name}, 0")
        } else {
            format!("0, &gputexel_values.{name}")
        };
        rows += &format!("        {{\"{name}\", {pointers}}},\n");
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

#ifndef __GNUC__
#error "gputexel: compile with GCC or Clang"
#endif
/* A function that fills an array before main, and before the program's own functions that run before main. */
#define GPUTEXEL_FILLS(function) __attribute__((constructor(101))) static void function(void)
GPUTEXEL_FILLS(gputexel_reads_values) { gputexel_read(); }

#endif
"#;
