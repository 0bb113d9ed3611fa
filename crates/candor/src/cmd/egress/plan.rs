//! `candor egress plan`: compares the trees of a file with the kernel, like a diff.

use candor_egress::canonical::Difference;

use super::json::PlanView;
use super::{Compared, WantedFile, draw};
use crate::cli::EgressPlanArgs;
use candor_cli::gateway_file::{Form, plural};
use candor_cli::{Exit, Outcome, render};

pub(super) fn run(args: &EgressPlanArgs) -> Outcome {
    let Some(file) = WantedFile::read(&args.wanted, Form::once(args.wanted.kernel.json))? else { return Ok(Exit::No) };
    let file = file.located()?;
    let compared = Compared::all(&file.wanted)?;
    let is_equal = compared.iter().all(Compared::is_equal);
    let exit = if args.exit_code && !is_equal { Exit::No } else { Exit::Fine };
    if args.wanted.kernel.json {
        return render::answer(&render::object(&PlanView::of(file.name(), &compared)), exit);
    }
    render::answer(&(text(&compared) + &summary(&compared, file.name())), exit)
}

/// A line for each part that differs, below its interface.
pub(super) fn text(compared: &[Compared<'_>]) -> String {
    let one = |one: &Compared<'_>| {
        let lines: String = one.differences.iter().map(|difference| format!("  {}\n", line(difference))).collect();
        format!("{} (bus {})\n{lines}", one.wanted.interface, one.wanted.bus)
    };
    compared.iter().filter(|one| !one.is_equal()).map(one).collect()
}

/// `+` add, `-` remove, `~` change.
pub(super) fn line(difference: &Difference) -> String {
    let words = |part| draw::in_terminal(&draw::part_line(part));
    match difference {
        Difference::Missing(part) => format!("+ {}", words(part)),
        Difference::Extra(part) => format!("- {}", words(part)),
        Difference::Differs { wanted, found } => format!("~ {}\n      is {}", words(wanted), words(found)),
    }
}

fn summary(compared: &[Compared<'_>], name: &str) -> String {
    let differ = compared.iter().filter(|one| !one.is_equal()).count();
    if differ == 0 {
        return format!("{name}: no difference on {}\n", plural(compared.len(), "interface"));
    }
    let count = |is: fn(&Difference) -> bool| {
        compared.iter().flat_map(|one| &one.differences).filter(|difference| is(difference)).count()
    };
    let counts = [
        (count(|difference| matches!(difference, Difference::Missing(_))), "to add"),
        (count(|difference| matches!(difference, Difference::Differs { .. })), "to change"),
        (count(|difference| matches!(difference, Difference::Extra(_))), "to remove"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let losing: Vec<_> =
        compared.iter().filter(|one| one.loses_frames).map(|one| one.wanted.interface.as_str()).collect();
    let losing = match losing.as_slice() {
        [] => String::new(),
        names => format!("; frames queued on {} are lost", names.join(", ")),
    };
    let counts = counts.collect::<Vec<_>>().join(", ");
    format!("{name}: {counts} on {} of {}{losing}\n", differ, plural(compared.len(), "interface"))
}
