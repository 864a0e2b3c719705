//! What the commands that play games have in common.

use gputexel::run_folder::RunFolder;

use super::Context;

/// Warnings of the library on standard error; one of a folder that could not be locked is never left out.
pub fn warn(warnings: &[String], folder: Option<&RunFolder>, context: &Context) {
    if let Some(warning) = folder.and_then(RunFolder::warning) {
        eprintln!("gputexel: warning: {warning}");
    }
    if !context.quiet && !context.json {
        for warning in warnings {
            eprintln!("gputexel: {}", gputexel::printable(warning));
        }
    }
}
