//! `candor import tc`.

use candor_cli::gateway_file::{plural, read_bytes};
use candor_cli::render::{self, Source};
use candor_cli::{Exit, Outcome};
use candor_config::config::Loaded;
use candor_config::text;
use candor_egress::canonical::differences;
use candor_egress::text::{self as egress_text, Unsayable};
use candor_egress::tree::Tree;

use super::{Mismatch, checked, left_out, not_imported, put};
use crate::cli::ImportTcArgs;
use crate::cmd::egress;
use crate::netns;

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
        render::err(&format!("{name}: not imported: it configures no qdisc of a CAN interface\n"));
        return Ok(Exit::No);
    }
    let written = match text::of_trees(&trees) {
        Ok(written) => format!("# Made by `candor import tc` of {}.\n{written}", name.escape_debug()),
        Err((interface, unsayable)) => {
            let line = |Unsayable { place, why }: &Unsayable| format!("{interface}: {place}: {why}\n");
            render::err(&unsayable.iter().map(line).collect::<String>());
            render::err(&format!("{name}: not imported: the tree would be incomplete\n"));
            return Ok(Exit::No);
        }
    };
    let Some(loaded) = checked(&args.output, &written) else { return Ok(Exit::No) };
    if !is_equivalent(&loaded, &trees) {
        return Err(Box::new(Mismatch));
    }
    put(&args.output, &written)?;
    render::err(&format!("{name}: {}\n", plural(trees.len(), "tree")));
    Ok(Exit::Fine)
}

/// The trees of the kernel, without interfaces that have only the default qdisc.
fn running(names: &[String]) -> Result<Trees, Box<dyn std::error::Error>> {
    let tree = |name: String| candor_egress::kernel::observe(&name, None).map(|observed| (name, observed.tree));
    let trees: Result<Trees, _> = egress::named_or_all(names)?.into_iter().map(tree).collect();
    Ok(trees?.into_iter().filter(|(_, tree)| *tree != Tree::default()).collect())
}

/// The trees that a script configures; `None` if they cannot be determined, which has been reported.
fn of_script(source: &Source, interfaces: &[String]) -> Option<Trees> {
    let script = match egress_text::parse_script(source.text()) {
        Ok(script) => script,
        Err(findings) => {
            not_imported(source, &findings);
            return None;
        }
    };
    render::err(&render::text(source, &script.notes, render::wants_colour()));
    left_out(source, &script.left_out);
    let mut trees = script.trees;
    match (interfaces, trees.as_mut_slice()) {
        // The value of the script's parameter.
        ([name], [(own, _)]) if is_unknown(own) => own.clone_from(name),
        ([], _) => {}
        (names, _) => trees.retain(|(own, _)| names.contains(own)),
    }
    if let Some((name, _)) = trees.iter().find(|(name, _)| is_unknown(name)) {
        let name = if name.is_empty() { "missing" } else { name };
        render::err(&format!(
            "{}: not imported: the interface is {name}; set it with --interface NAME\n",
            source.name()
        ));
        return None;
    }
    Some(trees)
}

fn is_unknown(interface: &str) -> bool {
    interface.is_empty() || interface.contains('$')
}

fn is_equivalent(loaded: &Loaded, trees: &[(String, Tree)]) -> bool {
    let wanted = egress::wanted(&loaded.plan);
    let is_wanted = |(name, tree): &(String, Tree)| {
        wanted.iter().any(|wanted| wanted.interface == *name && differences(&wanted.tree, tree).is_empty())
    };
    wanted.len() == trees.len() && trees.iter().all(is_wanted)
}
