//! `candor-lab kernels`.

use std::io;

use candor_lab::cache::Cache;
use candor_lab::kernel::{self, Kernel, KernelList};
use serde_json::json;

use super::progress::Progress;
use crate::cli::LabKernelsArgs;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

pub(crate) fn run(args: &LabKernelsArgs) -> Outcome {
    let mut progress = Progress::new();
    let list = kernel::list(&Cache::of_user()?, &mut progress);
    progress.clear();
    let KernelList { kernels, doubt } = list?;
    print(args, &kernels)?;
    if let Some(error) = doubt {
        render::err("candor-lab: this list may be out of date, and kernels that are not cached may be missing\n");
        render::error_chain("candor-lab", &error);
    }
    Ok(Exit::Fine)
}

fn print(args: &LabKernelsArgs, kernels: &[Kernel]) -> io::Result<()> {
    if args.json {
        return render::out(&format!("{:#}\n", json!({ "kernels": kernels })));
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["name", "laboratory", "release", "package version", "from", "cached"]);
    for kernel in kernels {
        table.add_row([
            kernel.name.as_str(),
            kernel.testbed.name(),
            kernel.release.as_deref().unwrap_or("(known once cached)"),
            &kernel.version,
            &kernel.suite,
            if kernel.cached { "yes" } else { "no" },
        ]);
    }
    render::out(&format!("{table}\n"))
}
