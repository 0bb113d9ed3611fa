//! Import circles between sibling modules of a crate, read from the paths `crate::…` and `super::…` in the sources.
//!
//! A child that uses its parent, or a parent its child, makes no edge: only modules next to each other count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::bail;

use crate::{sizes, step};

type Modules = BTreeSet<Vec<String>>;
/// Parent module → child → siblings that it uses.
type Edges = BTreeMap<Vec<String>, BTreeMap<String, BTreeSet<String>>>;

/// Fails on any circle: a type that both modules need belongs where both can see it.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut found = Vec::new();
    for package in step::metadata()?.packages {
        let source = package.manifest_path.with_file_name("src");
        for (parent, members) in circles(source.as_std_path())? {
            let place = [vec![package.name.to_string()], parent].concat().join("::");
            found.push(format!("{place}: {}", members.join(", ")));
        }
    }
    if !found.is_empty() {
        bail!("modules import each other in a circle:\n{}", found.join("\n"));
    }
    println!("circles: none");
    Ok(())
}

/// The circles below a `src` folder: parent module, members in order of their names.
fn circles(source: &Path) -> anyhow::Result<Vec<(Vec<String>, Vec<String>)>> {
    let mut files = Vec::new();
    sizes::collect(source, &mut files)?;
    let mut sources = BTreeMap::new();
    for file in files {
        let relative = file.strip_prefix(source).unwrap_or(&file).with_extension("");
        let mut module: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if module == ["lib"] || module == ["main"] {
            module.clear();
        }
        sources.insert(module, code(&std::fs::read_to_string(&file)?));
    }
    let modules: Modules = sources.keys().cloned().collect();
    let mut edges = Edges::new();
    for (module, text) in &sources {
        for used in used(module, text, &modules) {
            let common = module.iter().zip(&used).take_while(|(one, other)| one == other).count();
            if let (Some(from), Some(to)) = (module.get(common), used.get(common)) {
                let siblings = edges.entry(module[..common].to_vec()).or_default();
                siblings.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    Ok(edges
        .into_iter()
        .flat_map(|(parent, graph)| components(&graph).into_iter().map(move |all| (parent.clone(), all)))
        .collect())
}

/// The text without line comments and without the tests at its end.
fn code(text: &str) -> String {
    sizes::without_tests(text).map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The modules that a file names.
fn used(module: &[String], text: &str, modules: &Modules) -> Modules {
    let mut found = Modules::new();
    for keyword in ["crate::", "super::"] {
        for (at, _) in text.match_indices(keyword) {
            let continues = text[..at].ends_with(|before: char| before.is_alphanumeric() || "_:$".contains(before));
            if !continues {
                paths(&mut &text[at..], &[], &mut |path| found.extend(resolve(module, path, modules)));
            }
        }
    }
    found
}

/// Reads one path or tree of paths, `a::{b, c::d}`, and passes each whole path on.
fn paths(rest: &mut &str, prefix: &[String], each: &mut dyn FnMut(&[String])) {
    let mut path = prefix.to_vec();
    loop {
        *rest = rest.trim_start();
        if let Some(group) = rest.strip_prefix('{') {
            *rest = group;
            loop {
                paths(rest, &path, each);
                *rest = rest.trim_start().trim_start_matches(|one: char| !",}".contains(one));
                let Some(more) = rest.strip_prefix(',') else { break };
                *rest = more;
            }
            *rest = rest.strip_prefix('}').unwrap_or(rest);
            return;
        }
        let end = rest.find(|one: char| !one.is_alphanumeric() && one != '_').unwrap_or(rest.len());
        if end > 0 {
            path.push(rest[..end].to_owned());
            *rest = &rest[end..];
        }
        match rest.strip_prefix("::") {
            Some(more) if end > 0 => *rest = more,
            _ => return each(&path),
        }
    }
}

/// The deepest module that a path names.
fn resolve(module: &[String], path: &[String], modules: &Modules) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    let (base, rest) = match path.first()?.as_str() {
        "crate" => (&[][..], &path[1..]),
        _ => (module.get(..module.len().checked_sub(ups)?)?, &path[ups..]),
    };
    let whole = [base, rest].concat();
    (base.len()..=whole.len()).rev().map(|len| whole[..len].to_vec()).find(|prefix| modules.contains(prefix))
}

/// Sets of more than one module that all reach each other.
fn components(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach = |start: &String| {
        let mut seen = BTreeSet::new();
        let mut todo = vec![start];
        while let Some(next) = todo.pop() {
            todo.extend(graph.get(next).into_iter().flatten().filter(|one| seen.insert((*one).clone())));
        }
        seen
    };
    let reached: BTreeMap<_, _> = graph.keys().map(|one| (one, reach(one))).collect();
    let mut all = BTreeSet::new();
    for (one, its) in reached.iter().filter(|(one, its)| its.contains(**one)) {
        let members = its.iter().filter(|other| reached.get(other).is_some_and(|back| back.contains(*one)));
        all.insert(members.cloned().collect::<Vec<_>>());
    }
    all.into_iter().filter(|members| members.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str) -> Vec<String> {
        path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn trees_of_paths_are_resolved_to_their_deepest_module() {
        let modules: Modules = ["", "a", "a::b", "a::c", "d", "d::e"].map(module).into();
        let text =
            "use crate::{a::{self, c::Thing}, d};\nuse super::c;\nfn f(_: super::super::d::e::T, $crate::x: u8) {}";
        let found = used(&module("a::b"), text, &modules);
        assert_eq!(found, ["a", "a::c", "d", "d::e"].map(module).into());
    }

    #[test]
    fn comments_and_tests_at_the_end_do_not_count() {
        assert_eq!(code("a // crate::b\nc\n#[cfg(test)]\nmod tests {}"), "a \nc");
    }

    #[test]
    fn only_modules_that_reach_each_other_are_a_circle() {
        let edges = [("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["a", "d"]), ("d", vec!["d"])];
        let graph = edges.map(|(from, to)| (from.to_owned(), to.into_iter().map(str::to_owned).collect())).into();
        assert_eq!(components(&graph), [["a", "b", "c"]]);
    }
}
