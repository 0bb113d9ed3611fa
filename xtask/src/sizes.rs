//! The length of files: a file of more than 600 lines without its tests has more than one purpose.

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::step;

/// Lines above which a file needs a line in [`EXCEPTIONS`].
const HARD_CAP: usize = 600;
/// Lines above which one should ask why.
const SOFT_CAP: usize = 400;

/// Files that may be longer, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

pub(crate) fn run() -> anyhow::Result<()> {
    let root = step::root();
    let mut files = Vec::new();
    for folder in ["crates", "xtask", "fuzz"] {
        collect(&root.join(folder), &mut files)?;
    }
    let mut too_long = Vec::new();
    let mut lengths = Vec::new();
    for file in &files {
        let lines = lines_without_tests(&std::fs::read_to_string(file)?);
        let name = file.strip_prefix(&root).unwrap_or(file).display().to_string();
        lengths.push(lines);
        if lines > HARD_CAP && !EXCEPTIONS.iter().any(|(path, _)| *path == name) {
            too_long.push(format!("{name} has {lines} lines without its tests; {HARD_CAP} is the end"));
        } else if lines > SOFT_CAP {
            println!("sizes: {name} has {lines} lines: why?");
        }
    }
    if !too_long.is_empty() {
        bail!("{}", too_long.join("\n"));
    }
    lengths.sort_unstable();
    let (count, longest) = (lengths.len(), lengths.last().copied().unwrap_or(0));
    println!("sizes: {count} files, median {} lines, longest {longest}", lengths.get(count / 2).unwrap_or(&0));
    Ok(())
}

pub(crate) fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            if name != "target" && name != "tests" {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
            files.push(path);
        }
    }
    Ok(())
}

fn lines_without_tests(text: &str) -> usize {
    without_tests(text).count()
}

/// Tests stand last in a file, in a module with a body, so everything from its attribute on is theirs.
pub(crate) fn without_tests(text: &str) -> impl Iterator<Item = &str> {
    let is_module = |line: &str| line.starts_with("mod ") && line.contains('{');
    let next = text.lines().skip(1).chain([""]);
    text.lines()
        .zip(next)
        .take_while(move |(line, next)| *line != "#[cfg(test)]" || !is_module(next))
        .map(|(line, _)| line)
}

#[cfg(test)]
mod tests {
    use super::lines_without_tests;

    #[test]
    fn tests_at_the_end_do_not_count() {
        assert_eq!(lines_without_tests("a\nb\n#[cfg(test)]\nmod tests {\n}\n"), 2);
        assert_eq!(lines_without_tests("a\nb\n"), 2);
    }

    #[test]
    fn code_after_a_module_in_another_file_counts() {
        assert_eq!(lines_without_tests("#[cfg(test)]\nmod tests;\n#[cfg(test)]\nuse a;\nb\n"), 5);
    }
}
