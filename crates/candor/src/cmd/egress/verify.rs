//! `candor egress verify`: compares the kernel with the file, and checks for traps on this machine.

use candor_egress::lint::{self, Finding};
use candor_io::machine::Machine;
use candor_netlink::client::Client;
use candor_netlink::link;

use super::json::{PlanView, VerifyView};
use super::{Compared, Wanted, WantedFile, facts, plan};
use crate::cli::WantedArgs;
use candor_cli::gateway_file::{Form, plural};
use candor_cli::{Exit, Outcome, render};

pub(super) fn run(args: &WantedArgs) -> Outcome {
    let Some(file) = WantedFile::read(args, Form::once(args.kernel.json))? else { return Ok(Exit::No) };
    let file = file.located()?;
    let compared = Compared::all(&file.wanted)?;
    let traps = traps(&file.wanted)?;
    let is_equal = compared.iter().all(Compared::is_equal);
    let exit = if is_equal { Exit::Fine } else { Exit::No };
    if args.kernel.json {
        let view = VerifyView::of(PlanView::of(file.name(), &compared), &traps);
        return render::answer(&render::object(&view), exit);
    }
    let mut text = plan::text(&compared);
    for (wanted, finding) in &traps {
        let (code, trap) = (finding.code(), &finding.trap);
        text += &format!("{}: {code}: {trap}\n  help: {}\n", wanted.interface, trap.help());
    }
    let interfaces = plural(compared.len(), "interface");
    let traps = if traps.is_empty() { String::new() } else { format!("; {}", plural(traps.len(), "finding")) };
    text += &match compared.iter().filter(|one| !one.is_equal()).count() {
        _ if compared.is_empty() => format!("{}: nothing to verify\n", file.name()),
        0 => format!("{}: the kernel matches the file on {interfaces}{traps}\n", file.name()),
        other => format!(
            "{}: {other} of {interfaces} differ from the file; to fix: candor egress apply {}{traps}\n",
            file.name(),
            args.file.display()
        ),
    };
    render::answer(&text, exit)
}

/// Traps that depend on this machine.
fn traps(wanted: &[Wanted]) -> Result<Vec<(&Wanted, Finding)>, Box<dyn std::error::Error>> {
    let links = link::list(&mut Client::open()?)?;
    let machine = Machine::here();
    let mut traps = Vec::new();
    for wanted in wanted {
        let Some(link) = links.iter().find(|link| link.name == wanted.interface) else { continue };
        let mut facts = facts::of(&machine, link);
        facts.restarts = facts.restarts.map(|restarts| restarts || wanted.restarts);
        facts.is_compiled = !wanted.names.is_empty();
        traps.extend(lint::lint(&wanted.tree, &facts).into_iter().map(|finding| (wanted, finding)));
    }
    Ok(traps)
}
