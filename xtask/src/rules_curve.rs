//! From how many rules with masks on is user space faster than can-gw? The whole way of a frame, in the
//! instruction-counted laboratory, drawn and printed as a table.

mod plot;

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use cargo_metadata::camino::Utf8Path;

use crate::lab::{self, FramesFrom, Laboratory};
use crate::{static_build, step};

/// Rules of the gateways that are measured.
const COUNTS: [u32; 5] = [1, 64, 256, 512, 1024];

/// The frame that only the last rule takes.
const FRAME: &str = "00000123#0000";

/// Eight masks for 29-bit identifiers, in turn. All compare the format; the first is that of the rule that takes the
/// frame, and none of the others can.
const MASKS: [u32; 8] =
    [0x9FFF_FF00, 0x9FFF_F000, 0x9FFF_00FF, 0x9F00_FFFF, 0x9FFF_FFF0, 0x9FF0_FFFF, 0x9FFF_0FFF, 0x900F_FFFF];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Frames for each gateway.
    #[arg(long, default_value_t = 1000)]
    frames: u32,
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable).
    #[arg(long)]
    kernel: Option<String>,
    /// Where to draw the curve.
    #[arg(long, default_value = "docs/rules-curve.svg")]
    svg: PathBuf,
}

/// One line of the picture.
struct Series {
    label: &'static str,
    engine: &'static str,
    frames: &'static str,
    /// Median instructions for each of [`COUNTS`].
    p50: Vec<u64>,
}

/// Gateways that were measured alike: can-gw twice, then engines of user space.
struct Panel {
    caption: &'static str,
    from: FramesFrom,
    all: Vec<Series>,
}

/// Lines of a panel that are can-gw's.
const OF_KERNEL: usize = 2;

impl Panel {
    fn new(caption: &'static str, from: FramesFrom, engines: &[&'static str]) -> Self {
        let series = |label, engine, frames| Series { label, engine, frames, p50: Vec::new() };
        let kernel = [
            series("can-gw, classic and FD frames", "kernel", "any"),
            series("can-gw, classic frames only", "kernel", "classic"),
        ];
        let user = engines.iter().map(|engine| series(engine, engine, "any"));
        Self { caption, from, all: kernel.into_iter().chain(user).collect() }
    }

    fn measure(&mut self, laboratory: Laboratory<'_>, folder: &Utf8Path) -> anyhow::Result<()> {
        let mut files = Vec::new();
        for series in &self.all {
            for count in COUNTS {
                let file = folder.join(format!("{}-{}-{count}.toml", series.engine, series.frames));
                std::fs::write(&file, gateway(series, count)).with_context(|| format!("cannot write {file}"))?;
                files.push(file);
            }
        }
        let arguments = ["--frame", FRAME];
        let measured = laboratory.measure(self.from, folder.join("records").as_str(), &files, &arguments)?;
        for (series, measured) in self.all.iter_mut().zip(measured.chunks(COUNTS.len())) {
            series.p50 = measured.iter().map(|one| one.p50).collect();
        }
        Ok(())
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let candor = static_build::lab()?;
    let folder = lab::folder("rules-curve")?;
    let laboratory = Laboratory { candor: &candor, kernel: args.kernel.as_deref(), frames: args.frames };
    let mut panels = [
        Panel::new("frames from calls", FramesFrom::Call, &["read-write", "mmap-adaptive"]),
        Panel::new("frames from a timer", FramesFrom::Timer, &["mmapbusy-write"]),
    ];
    for panel in &mut panels {
        panel.measure(laboratory, &folder)?;
        println!("{}\n\n{}", panel.caption, table(&panel.all));
        let (kernel, user) = panel.all.split_at(OF_KERNEL);
        for user in user {
            kernel.iter().for_each(|kernel| println!("{}", overtaking(kernel, user)));
        }
        println!();
    }
    let svg = step::root().join(&args.svg);
    plot::draw(&svg, &panels)?;
    println!("drawn: {}", svg.display());
    Ok(())
}

/// A gateway of which only the last rule takes the frame.
fn gateway(series: &Series, count: u32) -> String {
    let mut file = format!(
        "engine = \"{}\"\n[bus.first]\ninterface = \"can2\"\n[bus.second]\ninterface = \"can3\"\n",
        series.engine
    );
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
            series.frames
        )
        .expect("a String takes everything");
    }
    file
}

fn table(all: &[Series]) -> String {
    let mut text = String::from("| rules |");
    for series in all {
        write!(text, " {} |", series.label).expect("a String takes everything");
    }
    text += "\n|--:|";
    text += &"--:|".repeat(all.len());
    text.push('\n');
    for (row, count) in COUNTS.iter().enumerate() {
        write!(text, "| {count} |").expect("a String takes everything");
        for series in all {
            write!(text, " {} |", series.p50[row]).expect("a String takes everything");
        }
        text.push('\n');
    }
    text
}

/// The number of rules at which user space becomes the faster gateway, by straight lines between the measured points.
fn overtaking(kernel: &Series, user: &Series) -> String {
    let points: Vec<_> = COUNTS
        .iter()
        .zip(kernel.p50.iter().zip(&user.p50))
        .map(|(&count, (&kernel, &user))| (f64::from(count), kernel as f64 - user as f64))
        .collect();
    let crossing = points.windows(2).find(|pair| pair[0].1 <= 0.0 && pair[1].1 > 0.0);
    let (label, user) = (kernel.label, user.label);
    match crossing {
        Some(pair) => {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            format!("{user} is faster than {label} from {:.0} rules on", x0 - y0 * (x1 - x0) / (y1 - y0))
        }
        None => format!("{user} does not become faster than {label} up to {} rules", COUNTS[COUNTS.len() - 1]),
    }
}
