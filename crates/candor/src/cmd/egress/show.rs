//! `candor egress show`: prints the trees of interfaces or of a file, in any format.

use candor_egress::netlink::Observed;
use candor_egress::text::{self, Unsayable};
use candor_egress::tree::Tree;

use super::draw::Drawing;
use super::json::ShowView;
use super::{Wanted, draw, named_or_all, no_interface, wanted};
use crate::cli::{EgressForm, EgressShowArgs};
use crate::cmd::read_file;
use crate::netns;
use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::signed::Keys;
use candor_cli::{Exit, Outcome, render};
use candor_egress::kernel::observe;

pub(super) fn run(args: &EgressShowArgs) -> Outcome {
    netns::enter(&args.kernel.netns)?;
    let wanted = match &args.file {
        None => None,
        Some(path) => {
            let file = if args.wanted { GatewayFile::read(path)? } else { read_file(path, None, &Keys::NONE)? };
            match file.gateway_or_say(Form::once(args.kernel.json))? {
                Some(loaded) => Some(wanted(&loaded.plan)),
                None => return Ok(Exit::No),
            }
        }
    };
    let shown = subjects(args, wanted.as_deref().unwrap_or_default())?;
    if args.kernel.json {
        let view = ShowView { interfaces: shown.iter().map(Subject::drawing).collect() };
        return render::answer(&render::object(&view), Exit::Fine);
    }
    match args.form.unwrap_or(EgressForm::Tree) {
        EgressForm::Svg => render::answer(&draw::svg(&only(&shown, "svg")?.drawing().in_short()), Exit::Fine),
        EgressForm::Tc => script(only(&shown, "tc")?),
        EgressForm::Tree => {
            let trees: Vec<_> = shown.iter().map(|subject| draw::text(&subject.drawing().in_short())).collect();
            match &args.file {
                Some(path) if trees.is_empty() => {
                    render::err(&format!("note: {} has no [egress.BUS]\n", path.display()))
                }
                None if trees.is_empty() => render::err(&no_interface(&candor_io::can::support())),
                _ => {}
            }
            render::answer(&trees.join("\n"), Exit::Fine)
        }
    }
}

struct Subject<'a> {
    interface: String,
    wanted: Option<&'a Wanted>,
    /// The state of the kernel; `None` for `--wanted`.
    found: Option<Observed>,
}

impl Subject<'_> {
    fn drawing(&self) -> Drawing {
        match (&self.found, self.wanted) {
            (Some(found), wanted) => Drawing::found(&self.interface, wanted, found),
            (None, Some(wanted)) => Drawing::wanted(wanted),
            (None, None) => Drawing::found(&self.interface, None, &Observed::default()),
        }
    }

    fn tree(&self) -> Tree {
        let wanted_tree = || self.wanted.map(|wanted| wanted.tree.clone()).unwrap_or_default();
        self.found.as_ref().map_or_else(wanted_tree, |found| found.tree.clone())
    }
}

/// The interfaces of the command line, or those of the file, or all CAN interfaces.
fn subjects<'a>(args: &EgressShowArgs, wanted: &'a [Wanted]) -> Result<Vec<Subject<'a>>, Box<dyn std::error::Error>> {
    let names = if args.interface.is_empty() && args.file.is_some() {
        wanted.iter().map(|wanted| wanted.interface.clone()).collect()
    } else {
        named_or_all(&args.interface)?
    };
    let subject = |interface: String| {
        let wanted = wanted.iter().find(|wanted| wanted.interface == interface);
        let found = if args.wanted {
            if wanted.is_none() {
                return Err(NotWanted(interface).into());
            }
            None
        } else {
            Some(observe(&interface, wanted.map(|wanted| wanted.bus.as_str()))?)
        };
        Ok(Subject { interface, wanted, found })
    };
    names.into_iter().map(subject).collect()
}

/// An interface of the command line that the file does not configure.
#[derive(Debug, thiserror::Error)]
#[error("The file has no [egress.BUS] for the interface {0}")]
struct NotWanted(String);

/// The output format supports a single interface, and there are several.
#[derive(Debug, thiserror::Error)]
#[error("--as {form} shows one interface; select it with --interface: {}", if names.is_empty() { "none found" } else { names })]
struct NotOne {
    form: &'static str,
    names: String,
}

fn only<'a, 'w>(shown: &'a [Subject<'w>], form: &'static str) -> Result<&'a Subject<'w>, NotOne> {
    match shown {
        [one] => Ok(one),
        _ => {
            let names: Vec<_> = shown.iter().map(|subject| subject.interface.as_str()).collect();
            Err(NotOne { form, names: names.join(", ") })
        }
    }
}

fn script(subject: &Subject<'_>) -> Outcome {
    match text::script(&subject.tree(), &subject.interface) {
        Ok(script) => render::answer(&script, Exit::Fine),
        Err(unsayable) => {
            let line = |Unsayable { place, why }: &Unsayable| format!("{}: {place}: {why}\n", subject.interface);
            render::err(&unsayable.iter().map(line).collect::<String>());
            render::err(&format!("{}: not written: the script would be incomplete\n", subject.interface));
            Ok(Exit::No)
        }
    }
}
