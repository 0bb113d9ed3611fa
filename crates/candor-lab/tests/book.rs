//! The gateway files, plans and commands of the README, the tutorial and the how-to pages.
//!
//! A block ```` ```toml ```` whose first line is `# FILE.toml` is written to that file. A block ```` ```console ```` runs
//! on the host, in the order of the page: its lines `$ …` are commands, all others their output, in which `...` stands for
//! any lines. Commands of `candor-lab` boot guests, so their blocks run only where guests do. A block
//! ```` ```console,guest ```` runs in user-mode Linux, ```` ```console,ignore ```` nowhere.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a skipped test prints why")]
#![expect(clippy::unwrap_used, reason = "a failure in a test shows where it is")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use candor_lab::experiment;

const GUEST_PROGRAMS: [&str; 5] = ["sh", "sleep", "cat", "candump", "cansend"];
/// Starts the lines that separate the outputs of commands in a guest.
const MARK: &str = "@@ ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Host,
    /// On the host, but it boots guests.
    Laboratory,
    Guest,
    Nowhere,
}

#[derive(Debug)]
enum Block {
    File { name: Option<String>, text: String },
    Console { place: Place, commands: Vec<Shown> },
}

/// A command and the output on the page.
#[derive(Debug)]
struct Shown {
    line: usize,
    command: String,
    output: Vec<String>,
}

struct Page {
    name: String,
    blocks: Vec<(usize, Block)>,
}

fn pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let how_to = fs::read_dir(root.join("docs/how-to")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = [root.join("README.md"), root.join("docs/tutorial.md")].into_iter().chain(how_to).collect();
    paths.sort();
    let page = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        Page { name, blocks: blocks(&fs::read_to_string(path).unwrap()) }
    };
    paths.into_iter().map(page).collect()
}

/// The blocks of a page with the numbers of their first lines.
fn blocks(page: &str) -> Vec<(usize, Block)> {
    let mut found = Vec::new();
    let mut lines = page.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let text: Vec<_> = lines.by_ref().map(|(line, _)| line).take_while(|line| *line != "```").collect();
        let block = match kind.split_once(',').unwrap_or((kind, "")) {
            ("toml", _) => {
                let name =
                    text.first().and_then(|first| first.strip_prefix("# ")).filter(|name| name.ends_with(".toml"));
                Block::File { name: name.map(str::to_owned), text: text.join("\n") + "\n" }
            }
            ("console", attribute) => {
                let commands = commands(&text, number + 1);
                let boots = commands.iter().any(|shown| shown.command.starts_with("candor-lab "));
                let place = match attribute {
                    "ignore" => Place::Nowhere,
                    "guest" => Place::Guest,
                    "" if boots => Place::Laboratory,
                    "" => Place::Host,
                    other => panic!("line {number}: console,{other}"),
                };
                Block::Console { place, commands }
            }
            _ => continue,
        };
        found.push((number, block));
    }
    found
}

fn commands(text: &[&str], first: usize) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for (line, number) in text.iter().zip(first..) {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => all.push(Shown { line: number, command: command.to_owned(), output: Vec::new() }),
            (None, Some(last)) => last.output.push(line.trim_end().to_owned()),
            (None, None) => panic!("line {number}: output without a command"),
        }
    }
    all
}

/// Compares lines; `...` stands for any lines.
fn agree(expected: &[String], found: &[&str]) -> bool {
    match expected {
        [] => found.is_empty(),
        [any, rest @ ..] if any == "..." => (0..=found.len()).any(|skipped| agree(rest, &found[skipped..])),
        [line, rest @ ..] => {
            found.split_first().is_some_and(|(first, found)| first.trim_end() == line && agree(rest, found))
        }
    }
}

fn judge(page: &str, shown: &Shown, status: Option<i32>, output: &str, wrong: &mut Vec<String>) {
    let found: Vec<_> = output.lines().collect();
    if status != Some(0) || !agree(&shown.output, &found) {
        let Shown { line, command, output: expected } = shown;
        wrong.push(format!("{page}:{line}: $ {command}\n{output}status {status:?}; expected {expected:#?}"));
    }
}

/// The folder with both programs: `CANDOR_STATIC`, or that of the programs built with this test. `None`, after printing
/// why, if there is no `candor`.
fn programs() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_BIN_EXE_candor-lab")).parent().unwrap().to_owned();
    let folder = std::env::var_os("CANDOR_STATIC").map_or(own, PathBuf::from);
    require("candor", folder.join("candor").is_file().then_some(folder), "`cargo build -p candor` has not run")
}

fn static_programs() -> Option<PathBuf> {
    let folder = std::env::var_os("CANDOR_STATIC").map(PathBuf::from);
    require("laboratory", folder, "CANDOR_STATIC names no static programs")
}

fn require<T>(feature: &str, found: Option<T>, reason: &str) -> Option<T> {
    if found.is_none() {
        let demanded = std::env::var("CANDOR_REQUIRE").unwrap_or_default();
        assert!(!demanded.split(',').any(|one| one == feature), "{feature} is required, but {reason}");
        println!("SKIP needs {feature}: {reason}");
    }
    found
}

/// Runs the console blocks of a place, in one folder per page with the files of the page.
fn run_on_host(place: Place, programs: &Path) {
    let mut path = vec![programs.to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = std::env::join_paths(path).unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for page in pages() {
        let folder = tempfile::tempdir().unwrap();
        for (_, block) in &page.blocks {
            match block {
                Block::File { name: Some(name), text } => fs::write(folder.path().join(name), text).unwrap(),
                Block::Console { place: its, commands } if *its == place => {
                    for shown in commands {
                        let mut command = Command::new("sh");
                        command.args(["-c", &format!("exec 2>&1\n{}", shown.command)]).stdin(Stdio::null());
                        let output = command.current_dir(folder.path()).env("PATH", &path).output().unwrap();
                        let text = String::from_utf8_lossy(&output.stdout);
                        judge(&page.name, shown, output.status.code(), &text, &mut wrong);
                        count += 1;
                    }
                }
                _ => {}
            }
        }
    }
    assert!(count > 5, "{count} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn files_are_valid() {
    let mut count = 0;
    for page in pages() {
        for (line, block) in &page.blocks {
            let Block::File { name, text } = block else { continue };
            let place = format!("{}:{line}", page.name);
            assert!(name.is_some(), "{place}: the first line is not # FILE.toml");
            count += 1;
            if text.contains("[factor]") {
                let loaded = experiment::load(text.as_bytes(), experiment::Available::default());
                assert!(loaded.as_ref().is_ok_and(|loaded| loaded.warnings.is_empty()), "{place}: {loaded:#?}");
            } else {
                let loaded = candor_config::config::load(text.as_bytes());
                assert!(loaded.is_ok(), "{place}: {loaded:#?}");
            }
        }
    }
    assert!(count > 10, "{count} files");
}

#[test]
fn commands_on_the_host_print_what_the_pages_show() {
    let Some(programs) = programs() else { return };
    run_on_host(Place::Host, &programs);
}

#[test]
#[ignore = "boots guests"]
fn commands_of_the_laboratory_print_what_the_pages_show() {
    let Some(programs) = static_programs() else { return };
    run_on_host(Place::Laboratory, &programs);
}

#[test]
#[ignore = "boots a guest"]
fn commands_in_a_guest_print_what_the_pages_show() {
    let Some(programs) = static_programs() else { return };
    let pages = pages();
    let mut script = "exec 2>&1\n".to_owned();
    let mut all = Vec::new();
    for page in &pages {
        for (_, block) in &page.blocks {
            match block {
                Block::File { name: Some(name), text } => write!(script, "cat > {name} <<'END'\n{text}END\n").unwrap(),
                Block::Console { place: Place::Guest, commands } => {
                    for shown in commands {
                        write!(script, "echo '{MARK}'\n{}\necho \"{MARK}$?\"\n", shown.command).unwrap();
                        all.push((&page.name, shown));
                    }
                }
                _ => {}
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("book.sh");
    fs::write(&file, script).unwrap();
    let mut command = Command::new(programs.join("candor-lab"));
    command.args(["run", "--timeout", "5min"]).args(GUEST_PROGRAMS.iter().flat_map(|name| ["--program", *name]));
    let output = command.arg("--copy").arg(&file).args(["--", "sh", "book.sh"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    // Each command has a mark before it and one with its status after it.
    let parts: Vec<_> = format!("\n{text}").split(&format!("\n{MARK}")).skip(1).map(str::to_owned).collect();
    assert_eq!(parts.len(), 2 * all.len(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let mut wrong = Vec::new();
    for ((page, shown), outputs) in all.into_iter().zip(parts.chunks(2)) {
        let [printed, status] = outputs else { unreachable!("chunks of two") };
        let printed = printed.split_once('\n').map_or("", |(_, printed)| printed);
        judge(page, shown, status.lines().next().and_then(|status| status.parse().ok()), printed, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
