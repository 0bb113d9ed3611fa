//! `candor-lab merge`: combines parts of one plan that were measured on several machines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use candor_cli::gateway_file::plural;
use candor_cli::{Exit, Outcome, render};
use candor_lab::experiment::{Block, Plan, Testbed};

use super::progress::in_words;
use super::results::{Origin, Results, ResultsError};
use super::{deal, kernel_files, status_table};
use crate::cli::MergeArgs;

pub(crate) fn run(args: &MergeArgs) -> Outcome {
    // A shell's pattern also finds the logs of tasks.
    let (folders, others): (Vec<&PathBuf>, Vec<_>) = args.parts.iter().partition(|part| Results::are_in(part));
    for other in others.into_iter().filter(|other| !other.is_file()) {
        render::err(&format!("candor-lab: {} contains no results of candor-lab measure\n", other.display()));
    }
    let parts = folders.iter().map(|part| Results::existing(part)).collect::<Result<Vec<_>, _>>()?;
    let (Some(first), Some((_, bytes))) = (folders.first(), parts.first()) else {
        return Err("There are no results to merge".into());
    };
    let plan = same_plan(first, &parts)?;
    let out = Results::open(&args.out, bytes, &plan.logs)?;
    let files = parts[0].0.kernel_files()?;
    if !files.is_empty() {
        out.keep_kernel_files(&files)?;
    }
    let parts: Vec<&Results> = parts.iter().map(|(part, _)| part).collect();
    let blocks = plan.blocks();
    let mut found = BTreeMap::new();
    for block in &blocks {
        found.insert(block.name.as_str(), sources(&parts, block)?);
    }
    let (doubts, distrusted) = doubts(&plan, &blocks, &mut found)?;
    let mut missing = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let sources = &found[block.name.as_str()];
        let was_distrusted = distrusted.iter().any(|(name, _)| *name == block.name);
        match sources.first() {
            Some(source) if !out.has(&block.name) => out.copy_from(source.part, &block.name)?,
            // By an earlier merge that knew fewer nodes.
            None if was_distrusted && out.has(&block.name) => out.discard(&block.name)?,
            _ => {}
        }
        if !out.has(&block.name) {
            missing.push(at);
        }
    }
    if args.discard {
        distrusted.iter().try_for_each(|(name, part)| part.discard(name))?;
    }
    let absent: usize = missing.iter().map(|&at| blocks[at].cells.len()).sum();
    let cells = plan.cells().len();
    render::out(&format!("{} of {cells} cells are in {}\n", cells - absent, args.out.display()))?;
    render::err(&doubts);
    if missing.is_empty() {
        return Ok(Exit::Fine);
    }
    let can_repeat = args.discard || distrusted.is_empty();
    let remedy = match shards_of(&found).filter(|_| can_repeat) {
        Some(of) => {
            let dealt = deal(&plan, &blocks, of);
            let shards = missing.iter().map(|&at| dealt[at]).collect();
            format!("repeat these of the {of} shards: --array={}", ranges(&shards))
        }
        None if !can_repeat => "merge again with --discard, and repeat the shards that it lists".to_owned(),
        None => format!("candor-lab measure {0}/plan.toml --out {0} measures what is missing", args.out.display()),
    };
    render::err(&format!("candor-lab: {} missing; {remedy}\n", plural(absent, "cell")));
    Ok(Exit::No)
}

/// The plan of all parts. Fails if they have different ones, or different logs or kernels.
fn same_plan(first: &Path, parts: &[(Results, Vec<u8>)]) -> Result<Plan, Box<dyn std::error::Error>> {
    let (one, plan) = status_table::open(first)?;
    let logs = one.logs(&plan.replays())?;
    let files = one.kernel_files()?;
    for (other, bytes) in parts {
        let differs = if *bytes != parts[0].1 {
            Some("plan".to_owned())
        } else {
            let others = other.logs(&plan.replays())?;
            let log = others.into_iter().find(|(file, bytes)| logs.get(file) != Some(bytes)).map(|(file, _)| file);
            log.map_or_else(
                || Ok(kernel_files::difference(&files, &other.kernel_files()?)),
                |log| Ok::<_, ResultsError>(Some(log)),
            )?
        };
        if let Some(what) = differs {
            let other = other.folder().display();
            return Err(format!("{other} contains results of another {what} than {}", first.display()).into());
        }
    }
    Ok(plan)
}

/// A part that has a block.
struct Source<'p> {
    part: &'p Results,
    origin: Option<Origin>,
    /// What its node must have in common with the others: the bytes of the canary, or its name where times are those of a clock.
    mark: Option<(Vec<u8>, PathBuf)>,
}

fn sources<'p>(parts: &[&'p Results], block: &Block<'_>) -> Result<Vec<Source<'p>>, Box<dyn std::error::Error>> {
    let mut sources = Vec::new();
    for &part in parts.iter().filter(|part| part.has(&block.name)) {
        let origin = part.origin(&block.name)?;
        let mark = match &origin {
            Some(origin) if !block.conditions.testbed.is_guest() => {
                Some((origin.node.clone().into_bytes(), part.folder().to_owned()))
            }
            Some(Origin { canary: Some(name), .. }) if block.conditions.testbed == Testbed::Icount => {
                let path = part.canary(name);
                let bytes = fs::read(&path).map_err(|error| format!("Cannot read {}: {error}", path.display()))?;
                Some((bytes, path))
            }
            _ => None,
        };
        sources.push(Source { part, origin, mark });
    }
    Ok(sources)
}

type Distrusted<'p> = Vec<(String, &'p Results)>;

/// Takes the sources out that are not trusted. Returns what to say about them, and the blocks and parts.
fn doubts<'p, 'b>(
    plan: &Plan,
    blocks: &'b [Block<'_>],
    found: &mut BTreeMap<&'b str, Vec<Source<'p>>>,
) -> Result<(String, Distrusted<'p>), ResultsError> {
    let (mut text, mut distrusted) = (String::new(), Vec::new());
    let mut reject = |block: &Block<'_>, source: &Source<'p>, text: &mut String| {
        for cell in &block.cells {
            let levels = cell.levels().map(|(factor, level)| (factor.to_owned(), level));
            *text += &format!("  not merged: {}  {}\n", cell.name(plan), in_words(&levels));
        }
        distrusted.push((block.name.clone(), source.part));
    };
    for guests in [true, false] {
        let of_kind = || blocks.iter().filter(|block| block.conditions.testbed.is_guest() == guests);
        let mut groups: BTreeMap<Vec<u8>, (BTreeSet<String>, PathBuf)> = BTreeMap::new();
        for source in of_kind().flat_map(|block| &found[block.name.as_str()]) {
            if let (Some((bytes, path)), Some(origin)) = (&source.mark, &source.origin) {
                let group = groups.entry(bytes.clone()).or_insert_with(|| (BTreeSet::new(), path.clone()));
                group.0.insert(origin.node.clone());
            }
        }
        if groups.len() < 2 {
            continue;
        }
        // Each host is a group of one node; the first has the plan.
        let most = groups.values().map(|(nodes, _)| nodes.len()).max().unwrap_or_default();
        let mut largest = groups.iter().filter(|(_, (nodes, _))| nodes.len() == most);
        let trusted = largest.next().filter(|_| !guests || largest.next().is_none());
        for (bytes, (nodes, path)) in &groups {
            if trusted.is_some_and(|(trusted, _)| trusted == bytes) {
                continue;
            }
            let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
            let nodes = nodes.join(",");
            text += &match trusted {
                Some((_, (kept, _))) if !guests => {
                    let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
                    format!(
                        "candor-lab: times of {nodes} cannot be compared with those of {}: measure them on one host\n",
                        kept.join(",")
                    )
                }
                Some((trusted, (others, other_path))) => format!(
                    "candor-lab: the canary of {nodes} differs in line {} from that of {}: compare {} with {}; \
                     repeat its cells elsewhere: --exclude={nodes}\n",
                    first_difference(bytes, trusted),
                    plural(others.len(), "node"),
                    path.display(),
                    other_path.display(),
                ),
                None => format!(
                    "candor-lab: the canary of {nodes} ({}) differs from that of as many nodes, so that none is trusted: measure on \
                     one more node\n",
                    path.display()
                ),
            };
            for block in of_kind() {
                let sources = found.entry(block.name.as_str()).or_default();
                let is_bad = |source: &Source<'_>| source.mark.as_ref().is_some_and(|(mark, _)| mark == bytes);
                sources.iter().filter(|source| is_bad(source)).for_each(|source| reject(block, source, &mut text));
                sources.retain(|source| !is_bad(source));
            }
        }
    }
    // A block that two nodes have measured.
    for block in blocks.iter().filter(|block| block.conditions.testbed == Testbed::Icount) {
        let sources = found.entry(block.name.as_str()).or_default();
        let mut others = sources.iter();
        let Some(one) = others.next() else { continue };
        let files = one.part.files(&block.name)?;
        for other in others {
            if other.part.files(&block.name)? != files {
                let [one, two] = [one, other].map(|source| source.part.folder().display());
                text += &format!("candor-lab: the results of {one} and {two} differ for the same cells\n");
                for source in &*sources {
                    reject(block, source, &mut text);
                }
                sources.clear();
                break;
            }
        }
    }
    Ok((text, distrusted))
}

/// From 1.
fn first_difference(one: &[u8], other: &[u8]) -> usize {
    let lines = |bytes: &'_ [u8]| bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (one, other) = (lines(one), lines(other));
    let same = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    same + 1
}

/// The number of shards in which the plan was measured; `None` if it is not known, or there are several.
fn shards_of(found: &BTreeMap<&str, Vec<Source<'_>>>) -> Option<NonZeroU32> {
    let origins = found.values().flatten().filter_map(|source| source.origin.as_ref());
    let of: BTreeSet<NonZeroU32> = origins.map(|origin| origin.shard.of()).collect();
    of.first().copied().filter(|_| of.len() == 1)
}

/// `1,3-5`, as batch systems write them.
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests;
