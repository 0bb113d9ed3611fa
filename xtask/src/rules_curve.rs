//! Latency over the number of rules with masks, can-gw against user space, in the laboratory.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::lab::{self, FramesFrom, Laboratory};
use crate::{static_build, step};

const COUNTS: [u32; 5] = [1, 64, 256, 512, 1024];

/// The frame that only the last rule matches.
const FRAME: &str = "00000123#0000";

/// Masks for 29-bit identifiers, used in turn. All compare the format; the first is that of the rule that matches the
/// frame, and none of the others can.
const MASKS: [u32; 8] =
    [0x9FFF_FF00, 0x9FFF_F000, 0x9FFF_00FF, 0x9F00_FFFF, 0x9FFF_FFF0, 0x9FF0_FFFF, 0x9FFF_0FFF, 0x900F_FFFF];

/// Senders of the frames, and the engines that are measured in addition to can-gw.
const PANELS: [(FramesFrom, &str, &[&str]); 2] =
    [(FramesFrom::Call, "call", &["read-write", "mmap-adaptive"]), (FramesFrom::Timer, "timer", &["mmapbusy-write"])];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Frames for each gateway.
    #[arg(long, default_value_t = 1000)]
    frames: u32,
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable).
    #[arg(long)]
    kernel: Option<String>,
    /// SVG file to draw.
    #[arg(long, default_value = "docs/rules-curve.svg")]
    svg: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let candor = static_build::lab()?;
    let folder = lab::folder("rules-curve")?;
    let laboratory = Laboratory { candor: &candor, kernel: args.kernel.as_deref(), frames: args.frames };
    let mut results = Vec::new();
    for (from, name, engines) in PANELS {
        let kernel = [("kernel", "any"), ("kernel", "classic")];
        let mut files = Vec::new();
        for (engine, frames) in kernel.into_iter().chain(engines.iter().map(|engine| (*engine, "any"))) {
            for count in COUNTS {
                let text = gateway(engine, frames, count);
                files.push(lab::write(&folder, &format!("{engine}.{frames}.{count}"), &text)?);
            }
        }
        let measured = laboratory.measure(from, folder.join("records").as_str(), &files, &["--frame", FRAME])?;
        results.push(lab::write_result(&folder, name, &measured)?);
    }
    lab::figure(&candor, "rules", &results, Some(&step::root().join(&args.svg)))
}

/// A gateway of which only the last rule matches the frame.
fn gateway(engine: &str, frames: &str, count: u32) -> String {
    let mut file =
        format!("engine = \"{}\"\n[bus.first]\ninterface = \"can2\"\n[bus.second]\ninterface = \"can3\"\n", engine);
    for rule in 0..count {
        let filter = if rule + 1 == count {
            format!("00000123:{:08X}", MASKS[0])
        } else {
            let mask = MASKS[rule as usize % MASKS.len()];
            // An odd multiplier spreads the numbers; bit 28 keeps all of them away from the frame.
            let id = rule.wrapping_mul(0x9E37_79B1) & 0x0FFF_FFFF | 0x1000_0000;
            format!("{:08X}:{mask:08X}", id & mask & 0x1FFF_FFFF)
        };
        write!(
            file,
            "[[route]]\nname = \"r{rule}\"\nfrom = \"first\"\nto = \"second\"\nframes = \"{}\"\nmatch = \"{filter}\"\n",
            frames
        )
        .expect("writing to a String cannot fail");
    }
    file
}
