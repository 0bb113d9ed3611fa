//! Moving the pins of guest kernels.

use crate::step;

const FILE: &str = "crates/candor-lab/src/kernel/pins.toml";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Kernels to move to their newest version, or to this one; also those that have no pin yet [default: all that have one]
    #[arg(value_name = "NAME[=VERSION]")]
    kernels: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let lab = ["run", "--quiet", "--package", "candor-lab", "--", "kernels", "--move-pins", FILE];
    step::run(step::cargo().args(lab).args(&args.kernels))
}
