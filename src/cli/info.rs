use super::Context;
#[derive(Debug, clap::Args)]
pub struct InfoArgs {}
pub fn run(_: &InfoArgs, _: &Context) -> anyhow::Result<()> {
    Ok(())
}
