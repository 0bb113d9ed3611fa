//! `candor import tc`.

use candor_config::config::Loaded;
use candor_config::text;
use candor_egress::canonical::differences;
use candor_egress::text::{self as egress_text, Unsayable};
use candor_egress::tree::Tree;

use super::{NotTheSame, checked, left_out, put};
use crate::cli::ImportTcArgs;
use crate::cmd::egress;
use crate::netns;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::{plural, read_bytes, tally};
use candor_cli::render::{self, Source};

/// Each interface with what hangs on it.
type Trees = Vec<(String, Tree)>;

pub(super) fn run(args: &ImportTcArgs) -> Outcome {
    let (name, trees) = if args.running {
        netns::enter(&args.netns)?;
        ("the kernel".to_owned(), running(&args.interface)?)
    } else {
        let (name, bytes) = read_bytes(&args.file, egress_text::MAX_BYTES)?;
        let source = Source::new(name.clone(), &bytes);
        let Some(trees) = of_script(&source, &args.interface) else { return Ok(Exit::No) };
        (name, trees)
    };
    if trees.is_empty() {
        render::err(&format!("{name}: not imported: it makes no queueing discipline of a CAN interface\n"));
        return Ok(Exit::No);
    }
    let written = match text::of_trees(&trees) {
        Ok(written) => format!("# Made by `candor import tc` of {}.\n{written}", name.escape_debug()),
        Err((interface, unsayable)) => {
            let line = |Unsayable { place, why }: &Unsayable| format!("{interface}: {place}: {why}\n");
            render::err(&unsayable.iter().map(line).collect::<String>());
            render::err(&format!("{name}: not imported: a tree with a part missing would mislead\n"));
            return Ok(Exit::No);
        }
    };
    let Some(loaded) = checked(&args.output, &written) else { return Ok(Exit::No) };
    if !says_the_same(&loaded, &trees) {
        return Err(Box::new(NotTheSame));
    }
    put(&args.output, &written)?;
    render::err(&format!("{name}: {}\n", plural(trees.len(), "tree")));
    Ok(Exit::Fine)
}

/// What the kernel has; interfaces that have nothing but its default are left out unless they were named.
fn running(names: &[String]) -> Result<Trees, Box<dyn std::error::Error>> {
    let tree = |name: String| candor_egress::kernel::observe(&name, None).map(|observed| (name, observed.tree));
    let trees: Result<Trees, _> = egress::named_or_all(names)?.into_iter().map(tree).collect();
    Ok(trees?.into_iter().filter(|(_, tree)| *tree != Tree::default()).collect())
}

/// What a script would make; `None`, after saying why, if nobody can know.
fn of_script(source: &Source, interfaces: &[String]) -> Option<Trees> {
    let script = match egress_text::parse_script(source.text()) {
        Ok(script) => script,
        Err(findings) => {
            render::err(&render::text(source, &findings, render::wants_colour()));
            render::err(&format!("{}: not imported: {}\n", source.name(), tally(&findings)));
            return None;
        }
    };
    render::err(&render::text(source, &script.notes, render::wants_colour()));
    left_out(source, &script.left_out);
    let mut trees = script.trees;
    match (interfaces, trees.as_mut_slice()) {
        // Only who calls the script knows what its variable is.
        ([name], [(own, _)]) if is_unknown(own) => own.clone_from(name),
        ([], _) => {}
        (names, _) => trees.retain(|(own, _)| names.contains(own)),
    }
    if let Some((name, _)) = trees.iter().find(|(name, _)| is_unknown(name)) {
        let name = if name.is_empty() { "no interface" } else { name };
        render::err(&format!(
            "{}: not imported: it is for {name}; say which that is with --interface NAME\n",
            source.name()
        ));
        return None;
    }
    Some(trees)
}

fn is_unknown(interface: &str) -> bool {
    interface.is_empty() || interface.contains('$')
}

fn says_the_same(loaded: &Loaded, trees: &[(String, Tree)]) -> bool {
    let wanted = egress::wanted(&loaded.plan);
    let is_wanted = |(name, tree): &(String, Tree)| {
        wanted.iter().any(|wanted| wanted.interface == *name && differences(&wanted.tree, tree).is_empty())
    };
    wanted.len() == trees.len() && trees.iter().all(is_wanted)
}
