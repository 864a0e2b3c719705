//! What the commands that play games have in common.

use super::Context;

/// Warnings of the library on standard error.
pub fn warn(warnings: &[String], context: &Context) {
    if !context.quiet && !context.json {
        for warning in warnings {
            eprintln!("gputexel: {}", gputexel::printable(warning));
        }
    }
}
