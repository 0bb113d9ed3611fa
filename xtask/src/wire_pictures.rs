//! The pictures of docs/wire.md: what buses of `candor-lab wire` did in the instruction-counted laboratory.

mod bus_off;
mod inversion;
mod log;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use plotters::style::{BLACK, Color as _, RGBColor, ShapeStyle};

use crate::{lab, static_build, step};
use log::Line;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable).
    #[arg(long)]
    kernel: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let guest = Guest { candor: &static_build::lab()?, kernel: args.kernel.as_deref() };
    let docs = step::root().join("docs/wire");
    let drawn = [docs.join("inversion.svg"), docs.join("bus-off.svg")];
    inversion::draw(&drawn[0], guest)?;
    bus_off::draw(&drawn[1], guest)?;
    for picture in drawn {
        println!("drawn: {}", picture.display());
    }
    Ok(())
}

/// A guest with `candor-lab wire` and can-utils.
#[derive(Clone, Copy)]
struct Guest<'a> {
    candor: &'a Path,
    kernel: Option<&'a str>,
}

impl Guest<'_> {
    /// Plays a file of `docs/wire` on buses with these arguments, after a command of bash, and gives the log of the wire.
    fn play(self, buses: &str, prepare: &str, traffic: &str) -> anyhow::Result<Vec<Line>> {
        let folder = lab::folder("wire-pictures")?;
        let script = format!(
            "candor-lab wire --json --log $CANDOR_OUT/wire.log {buses} > ready & wire=$!
             until [ -s ready ]; do kill -0 $wire || exit; sleep 0.1; done
             {prepare}
             canplayer -g 0 -I {traffic} && sleep 0.2
             kill $wire && wait $wire"
        );
        let mut command = Command::new(self.candor);
        command.args(["run", "--testbed", "icount", "--out", folder.as_str()]);
        command.args(["bash", "canplayer", "ip", "sleep"].iter().flat_map(|program| ["--program", program]));
        command.arg("--copy").arg(step::root().join("docs/wire").join(traffic));
        if let Some(kernel) = self.kernel {
            command.args(["--kernel", kernel]);
        }
        let status = command.args(["--", "bash", "-c", &script]).status().context("cannot start candor-lab")?;
        if !status.success() {
            bail!("candor-lab run: {status}");
        }
        let path = folder.join("wire.log");
        log::read(&std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?)
    }
}

/// Colours that people with any colour vision can tell apart.
const BLUE: RGBColor = RGBColor(0, 114, 178);
const GREY: RGBColor = RGBColor(170, 170, 170);
const RED: RGBColor = RGBColor(213, 94, 0);
const GREEN: RGBColor = RGBColor(0, 158, 115);

const FONT: &str = "sans-serif";

fn thin() -> ShapeStyle {
    BLACK.mix(0.6).stroke_width(1)
}
