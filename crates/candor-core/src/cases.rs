//! Tables of test cases in text files.

/// Checks the lines `input => output` of a file. Lines that begin with `# ` are comments.
pub(crate) fn check(cases: &str, output: impl Fn(&str) -> String) {
    let wrong = cases.lines().filter(|line| !line.starts_with("# ")).filter_map(|line| {
        let (input, _) = line.split_once(" => ").expect("a line is `input => output`");
        let found = format!("{input} => {}", output(input));
        (found != line).then(|| format!("expected {line}\n   found {found}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
