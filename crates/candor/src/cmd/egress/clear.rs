//! `candor egress clear`: restores the kernel's default.

use candor_egress::canonical::differences;
use candor_egress::kernel::{Interface, Kernel as _, Target};
use candor_egress::tree::Tree;
use candor_io::signal::EndingSignals;

use super::json::{ClearView, ClearedView};
use super::{WantedFile, open, targets};
use crate::cli::{EgressClearArgs, WantedArgs};
use crate::netns;
use candor_cli::gateway_file::Form;
use candor_cli::{Exit, Outcome, render};

pub(super) fn run(args: &EgressClearArgs) -> Outcome {
    let (mut going, left) = match &args.file {
        Some(file) => {
            let args_of_file = WantedArgs { file: file.clone(), kernel: args.kernel.clone() };
            let Some(file) = WantedFile::read(&args_of_file, Form::once(args.kernel.json))? else {
                return Ok(Exit::No);
            };
            of_file(&file)?
        }
        None => {
            netns::enter(&args.kernel.netns)?;
            (of_interfaces(&args.interface)?, Vec::new())
        }
    };
    let cleared = {
        let _held = EndingSignals::block()?;
        candor_egress::kernel::apply(&mut going)?
    };
    let exit = if left.is_empty() { Exit::Fine } else { Exit::No };
    if args.kernel.json {
        let view = |interface, cleared, left| ClearedView { interface, cleared, left };
        let cleared = cleared.iter().map(|one| view(&one.interface, !one.steps.requests.is_empty(), false));
        let left = left.iter().map(|name| view(name, false, true));
        let view = ClearView { interfaces: cleared.chain(left).collect() };
        return render::answer(&render::object(&view), exit);
    }
    let mut text = String::new();
    for one in &cleared {
        let what = if one.steps.requests.is_empty() { "already has the kernel's default" } else { "cleared" };
        text += &format!("{}: {what}\n", one.interface);
    }
    for name in &left {
        text += &format!(
            "{name}: differs from the file and stays; candor egress plan shows how, and candor egress \
             clear --interface {name} removes it\n"
        );
    }
    render::answer(&text, exit)
}

/// Interfaces to clear, and names of those left untouched.
type GoingAndLeft = (Vec<Target<Interface>>, Vec<String>);

/// The interfaces that match the file or have the default; and the names of the others.
fn of_file(file: &WantedFile) -> Result<GoingAndLeft, Box<dyn std::error::Error>> {
    let (mut going, mut left) = (Vec::new(), Vec::new());
    for mut target in targets(&file.wanted)? {
        let found = target.kernel.found()?;
        if found == Tree::default() || differences(&target.wanted, &found).is_empty() {
            going.push(Target { wanted: Tree::default(), ..target });
        } else {
            left.push(target.name);
        }
    }
    Ok((going, left))
}

fn of_interfaces(names: &[String]) -> Result<Vec<Target<Interface>>, Box<dyn std::error::Error>> {
    let target = |name: &String| Ok(Target { name: name.clone(), kernel: open(name, None)?, wanted: Tree::default() });
    names.iter().map(target).collect()
}
