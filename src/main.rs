//! The command line: parse, run, print the error, exit.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    gputexel::matches::client::supervise_engines();
    if std::env::var_os("XDG_RUNTIME_DIR").is_none_or(|folder| folder.is_empty()) {
        // Without that folder, a layer of Mesa that sorts GPUs by what a desktop prefers complains
        // on standard error each time adapters are listed; where there is no desktop it is idle.
        // SAFETY: no other thread runs yet.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
    cli::main()
}
