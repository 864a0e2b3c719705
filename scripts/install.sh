#!/bin/sh
# Installs the program of a release for Linux or macOS, without the rights of root:
#   curl -fsSL https://github.com/OWNER/gputexel/releases/latest/download/install.sh | sh
#   curl ... | sh -s -- --to FOLDER      not into ~/.local/bin
#   curl ... | sh -s -- --from URL       another release: https://github.com/OWNER/gputexel/releases/download/v0.1.0
# An archive whose checksum is not that of the release's SHA256SUMS is refused.
set -eu

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

usage() {
    echo 'usage: install.sh [--to FOLDER] [--from URL]' >&2
    exit 2
}

has_glibc() {
    libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || return 1
    minor=${libc#glibc 2.}
    minor=${minor%%.*}
    case $minor in '' | *[!0-9]*) return 1 ;; esac
    [ "$minor" -ge 28 ]
}

download() { # file of the release
    if command -v curl >/dev/null; then
        curl -fsSL "$from/$1" -o "$work/$1" || fail "$from/$1 cannot be downloaded"
    elif command -v wget >/dev/null; then
        wget -q "$from/$1" -O "$work/$1" || fail "$from/$1 cannot be downloaded"
    else
        fail 'curl or wget is needed'
    fi
}

sha256() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1"
    else
        fail 'sha256sum or shasum is needed'
    fi
}

# All of it is read before any of it runs.
main() {
    from=https://github.com/OWNER/gputexel/releases/latest/download
    to=
    while [ $# -gt 0 ]; do
        [ $# -ge 2 ] || usage
        case $1 in
        --to) to=$2 ;;
        --from) from=${2%/} ;;
        *) usage ;;
        esac
        shift 2
    done
    [ -n "$to" ] || to=${HOME:?}/.local/bin

    system="$(uname -s) $(uname -m)"
    case $system in
    'Linux x86_64')
        target=x86_64-unknown-linux-gnu
        if ! has_glibc; then
            target=x86_64-unknown-linux-musl
            echo 'Without glibc 2.28 or newer: the program for the CPU alone' >&2
        fi
        ;;
    'Linux aarch64')
        target=aarch64-unknown-linux-gnu
        has_glibc || fail 'the program for ARM needs glibc 2.28 or newer; build it from source'
        ;;
    'Darwin x86_64') target=x86_64-apple-darwin ;;
    'Darwin arm64') target=aarch64-apple-darwin ;;
    *) fail "there is no program for $system; build it from source" ;;
    esac

    mkdir -p "$to" 2>/dev/null || fail "$to cannot be made; --to names another folder"
    to=$(cd "$to" && pwd)
    [ ! -d "$to/gputexel" ] || fail "$to/gputexel is a folder; --to names another"
    # In the folder itself, so that the program appears there whole or not at all.
    work=$(mktemp -d "$to/.gputexel.XXXXXX" 2>/dev/null) || fail "$to cannot be written; --to names another folder"
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM

    download SHA256SUMS
    entry="^[0-9a-f]{64} [ *]gputexel-[0-9][0-9A-Za-z.+-]*-$target\\.tgz\$"
    found=$(grep -E "$entry" "$work/SHA256SUMS") || fail "$from/SHA256SUMS has no archive for $target"
    [ "$(printf '%s\n' "$found" | wc -l)" -eq 1 ] || fail "$from/SHA256SUMS has more than one archive for $target"
    archive=${found#* ?}
    echo "Downloading $archive"
    download "$archive"
    is=$(sha256 "$work/$archive")
    [ "${is%% *}" = "${found%% *}" ] || fail "$archive does not have the checksum of SHA256SUMS"

    program=${archive%.tgz}/gputexel
    tar -xozf "$work/$archive" -C "$work" "$program" 2>/dev/null || fail "$archive cannot be unpacked, or has no $program"
    version=$("$work/$program" --version) || fail "the program of $archive does not run here"
    mv -f "$work/$program" "$to/gputexel"
    echo "$version is in $to"
    case :$PATH: in
    *:"$to":*) ;;
    *) echo "That is not in PATH; in your shell's profile: export PATH=\"$to:\$PATH\"" ;;
    esac
}

main "$@"
