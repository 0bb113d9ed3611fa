//! The figures of docs/wire.md and the recordings of the site: buses of `candor-lab wire` in the laboratory.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use cargo_metadata::camino::Utf8PathBuf;

use crate::{lab, static_build, step};

/// A bus for the frames, and one that marks when the high-priority frame is given to its interface.
const INVERSION: &str = "--bus b0:125k:can0,can1 --bus mark:1M:can2,can3 --depth 10";
/// Each frame with this identifier is destroyed, 32 times: 8 error counts each.
const BUS_OFF: &str = "--bus b0:125k:can0,can1 --model ucan --fault 'bit-error b0 --id 124 --bit 20 --times 32'";
/// Two programs and one queue, and marks for the end of the burst and for the urgent frame.
const QUEUE: &str = "--bus drive:250k:can0,can1 --bus mark:1M:can2,can3 --depth 2";
/// A queue with room for the burst, as in `candor-lab demo inversion`.
const ROOM: &str = "ip link set can0 txqueuelen 200";
/// The kernel reports up to a second later that an interface is operational again.
const RESTART: &str =
    "ip link set can0 down && ip link set can0 type can restart-ms 60 && ip link set can0 up && sleep 1.5";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable).
    #[arg(long)]
    kernel: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let candor = static_build::lab()?;
    let guest = Guest { candor: &candor, kernel: args.kernel.as_deref() };
    let root = step::root();
    let docs = root.join("docs/wire");
    let orders = ["fifo", "lowest-id"];
    let played = orders
        .map(|order| guest.play(order, &format!("{INVERSION} --order {order}"), "", &[docs.join("inversion.log")]));
    let logs = played.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    lab::figure(&candor, "inversion", &logs, Some(&docs.join("inversion.svg")))?;
    let log = guest.play("bus-off", BUS_OFF, RESTART, &[docs.join("bus-off.log")])?;
    lab::figure(&candor, "bus-off", &[log], Some(&docs.join("bus-off.svg")))?;
    let site = root.join("site");
    let files = [site.join("burst.log"), root.join("crates/candor-lab/src/cmd/demo/files/one-queue.toml")];
    for (name, egress) in [("before", ""), ("after", " && candor egress apply one-queue.toml")] {
        let log = guest.play(name, QUEUE, &format!("{ROOM}{egress}"), &files)?;
        std::fs::copy(&log, site.join(name).with_extension("log")).with_context(|| format!("cannot copy {log}"))?;
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
    /// Replays the first of these files on these buses, after a bash command. Returns the wire log.
    fn play(self, name: &str, buses: &str, prepare: &str, files: &[PathBuf]) -> anyhow::Result<Utf8PathBuf> {
        let folder = lab::folder("wire-pictures")?;
        let traffic = files.first().and_then(|file| file.file_name()?.to_str()).context("nothing to replay")?;
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
        for file in files {
            command.arg("--copy").arg(file);
        }
        if let Some(kernel) = self.kernel {
            command.args(["--kernel", kernel]);
        }
        let status = command.args(["--", "bash", "-c", &script]).status().context("cannot start candor-lab")?;
        if !status.success() {
            bail!("candor-lab run: {status}");
        }
        let (log, named) = (folder.join("wire.log"), folder.join(format!("{name}.log")));
        std::fs::rename(&log, &named).with_context(|| format!("cannot rename {log}"))?;
        Ok(named)
    }
}
