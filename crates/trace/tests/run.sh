#!/bin/sh
# Builds the evaluations of this folder, traces positions with them, and lets gputexel check the traces; then everything
# that has to be refused. Usage: run.sh GPUTEXEL GAMES.pgn[.zst]. CXX and STANDARDS choose the compiler and languages,
# PER_GAME the positions of a game.
set -u
gputexel=${1:?the gputexel program} games=${2:?games} per_game=${PER_GAME:-20} here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d) failed=0 flags='-O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
trap 'rm -rf "$out"' EXIT
fail() { echo "FAILED: $*" && failed=1; }

"$gputexel" extract "$games" --per-game "$per_game" --positions "$out/q.fens" >/dev/null 2>&1 || fail "extract"
cd "$here" || exit 1
for standard in ${STANDARDS:-17 20}; do
    for name in linear kings endgames-0 endgames-1 endgames-2 apart nested; do
        source=${name%-*}.cpp variant=${name#*-} case="C++$standard $name"
        set -- -std=c++"$standard" $flags -DVARIANT="$variant" "$source"
        [ "$variant" = "$name" ] && set -- -std=c++"$standard" $flags "$source"
        ${CXX:-g++} -DGPUTEXEL "$@" -o "$out/recording" && ${CXX:-g++} "$@" -o "$out/playing" || { fail "$case: build"; continue; }
        "$out/recording" --schema "$out/schema.json" <"$out/q.fens" >/dev/null || { fail "$case: trace"; continue; }
        # Columns are within the text of S(…) or V(…), so that gputexel finds the numbers.
        [ "$name" != kings ] || [ "$standard" -lt 20 ] || sed -n 's/.*{"at": "\([^":]*\):\([0-9]*\):\([0-9]*\)", "prior".*/\1 \2 \3/p' "$out/schema.json" |
            while read -r file line column; do
                sed -n "${line}p" "$file" | awk -v column="$column" '{
                    for (end = 0; match(substr($0, end + 1), /[SV]\([^()]*\)/); end += RSTART + RLENGTH - 1)
                        if (column >= end + RSTART && column < end + RSTART + RLENGTH) found = 1
                    exit !found }' || { echo "$file:$line:$column" >&2; exit 1; }
            done || fail "$case: columns"
        # Each record is evaluated again, and must give what the evaluation gave; and what is played, but for rounding.
        "$gputexel" import "$out/q.fens" --trace-command "$out/recording" -o "$out/q.bin" --force >"$out/said.txt" 2>&1 ||
            { fail "$case: import"; cat "$out/said.txt"; }
        "$gputexel" verify "$out/q.fens" --trace-command "$out/recording" --played "$out/playing" >"$out/said.txt" 2>&1 ||
            { fail "$case: verify"; cat "$out/said.txt"; }
        echo "$case: $(grep '^evaluations' "$out/said.txt")"
    done

    # With GCC, an evaluation that relies on the order of its operands isn't what is played, which the comparison says.
    ${CXX:-g++} -std=c++"$standard" $flags order.cpp -o "$out/playing" || fail "C++$standard order: build"
    ${CXX:-g++} -std=c++"$standard" $flags -DGPUTEXEL order.cpp -o "$out/recording" || fail "C++$standard order: build"
    if "$gputexel" verify "$out/q.fens" --trace-command "$out/recording" --played "$out/playing" >"$out/said.txt" 2>&1; then
        case ${CXX:-g++} in g++*) fail "C++$standard order: agrees" ;; esac
    fi
    # The recording build plays, too, with other values, and shows leaves.
    ${CXX:-g++} -std=c++"$standard" $flags -DGPUTEXEL -DPLAY linear.cpp -o "$out/player" || fail "C++$standard player: build"
    ${CXX:-g++} -std=c++"$standard" $flags -DGPUTEXEL linear.cpp -o "$out/recording" || fail "C++$standard recording: build"
    "$out/recording" --schema "$out/schema.json" <"$out/q.fens" >/dev/null
    sed -n 's/.*"at": "\([^"]*tables[^"]*\)".*"prior": \[\([^,]*\), \([^]]*\)\].*/\1 \2 \3/p' "$out/schema.json" |
        awk '{print $1 ".mg", 2 * $2 "\n\n" $1 ".eg", 2 * $3}' >"$out/values.txt"
    "$out/player" <"$out/q.fens" >"$out/one.txt"
    "$out/player" --values "$out/values.txt" <"$out/q.fens" >"$out/two.txt"
    "$out/recording" --values "$out/values.txt" <"$out/q.fens" | sed 's/.* eval:\([^ ]*\) .*/\1/' | paste - "$out/one.txt" "$out/two.txt" |
        awk '{d = $1 - $3; s += d * d; d = $3 - $2; t += d * d} END {exit !(s < NR && t > 1000 * NR)}' || fail "C++$standard values"
    echo 'tables.hpp:1:1.mg 5x' >>"$out/values.txt"
    "$out/player" --values "$out/values.txt" </dev/null 2>&1 | grep -q "values.txt:$(grep -c '' "$out/values.txt"): " ||
        fail "C++$standard values: a line that cannot be read"
    "$out/recording" --schema "$out/schema.json" </dev/null && grep -q '"numbers": \[' "$out/schema.json" ||
        fail "C++$standard schema without positions"
    leaves=$(GPUTEXEL_LEAVES=8 "$out/player" <"$out/q.fens" | grep -c '^info string leaf [^ ]* [wb] ')
    positions=$(grep -c '' "$out/q.fens")
    [ $((leaves * 12)) -gt "$positions" ] && [ $((leaves * 6)) -lt "$positions" ] || fail "C++$standard leaves: $leaves"

    for source in compile_fail/*.c* run_fail/*.cpp; do
        expected=$(sed -n '1s,// expect: ,,p' "$source") line=$(grep -n '// here$' "$source" | cut -d: -f1)
        case $source in
        *.c) set -- -x c++ -U__cplusplus -fsyntax-only ;;
        compile_fail/*) set -- -fsyntax-only ;;
        *) set -- -o "$out/refused" ;;
        esac
        if ${CXX:-g++} -std=c++"$standard" -DGPUTEXEL "$source" "$@" >"$out/said.txt" 2>&1; then
            case $source in
            compile_fail/*) fail "C++$standard $source compiles" ;;
            *) "$gputexel" import "$out/q.fens" --trace-command "$out/refused" -o "$out/q.bin" --force >/dev/null 2>"$out/said.txt" && fail "C++$standard $source is not refused" ;;
            esac
        else
            case $source in run_fail/*) fail "C++$standard $source does not compile" ;; esac
        fi
        grep -qF "$expected" "$out/said.txt" || fail "C++$standard $source: says $(head -3 "$out/said.txt")"
        [ -z "$line" ] || grep -q "$(basename "$source"):$line:" "$out/said.txt" || fail "C++$standard $source: line $line is not named"
    done
done
[ "$failed" = 0 ] && echo "all passed"
exit "$failed"
