//! The gateway files, plans and commands of the README and the book.
//!
//! A block ```` ```toml ```` whose first line is `# FILE.toml` is written to that file. In a block ```` ```console ````,
//! lines `$ …` are commands and all others their output, in which `...` stands for any lines. A block without any output
//! only has to succeed. Attributes say where a block runs, in the order of the page:
//!
//! * none: on the host. Blocks with commands of `candor-lab` run only where guests can boot.
//! * `guest`: as root in user-mode Linux, with vcan0 to vcan2. One guest runs all pages.
//! * `guest:usb`: the same in a guest with USB, for `candor-lab wire`.
//! * `nightly`: on the host, but only in `cargo xtask nightly`, because it takes a minute or more.
//! * `ignore:REASON`: nowhere, for one of [`REASONS`].
//!
//! After them may follow
//!
//! * `fails`: each command exits with 1.
//! * `about`, in guests: numbers may differ, and standard error is not shown.
//! * `background`, in guests: each command runs until the next such block, or the end of the page. The output is that until
//!   shortly after its first line.
//!
//! Every command line of the two programs, ignored or not, has to be accepted by their parsers.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a skipped test prints why")]
#![expect(clippy::unwrap_used, reason = "a failure in a test shows where it is")]

#[path = "support/require.rs"]
mod require;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use candor_lab::experiment;

use require::require;

/// Reasons for not running a block: it builds, installs as root, needs CAN hardware, is interactive or runs until it is stopped,
/// takes more than ten minutes, uses results that the page does not create, is a pattern, or needs a cluster.
const REASONS: [&str; 8] = ["builds", "installs", "hardware", "runs", "long", "results", "pattern", "cluster"];

const BUS_LOG: &str = "(1700000000.000000) can0 123#1122\n(1700000000.001000) body 12345678##5AABB\n\
                       (1700000000.002000) can0 20000004#0008000000006000\n(1700000000.003000) body 123#R4\n";

/// Files that pages use without showing them: page, name, and an example, a file of another page, or text.
const FILES: [(&str, &str, &str); 27] = [
    ("bounds.md", "drive.log", "../crates/candor-lab/tests/cmd/drive.log"),
    ("cangw.md", "gateway.sh", "cangw -A -s vcan0 -d vcan1 -e -f 123:C00007FF\n"),
    ("cluster.md", "plan.toml", "plan.toml"),
    ("conformance.md", "two.toml", "two.toml"),
    ("dashboard.md", "body.dbc", "body.dbc"),
    ("dashboard.md", "powertrain.dbc", "powertrain.dbc"),
    ("databases.md", "car.dbc", "../crates/candor-lab/tests/cmd/car.dbc"),
    ("egress.md", "gateway.toml", "priorities.toml"),
    ("evidence.md", "car.dbc", "../crates/candor-lab/tests/cmd/car.dbc"),
    ("laboratory.md", "gateway.sh", "#!/bin/sh\ncangw -A -s vcan0 -d vcan1 -e\n"),
    ("learn.md", "drive.log", "../crates/candor-lab/tests/cmd/drive.log"),
    ("measuring.md", "gateway.toml", "kvaser-kernel.toml"),
    ("metrics.md", "candor.toml", "01-forward.toml"),
    ("plans.md", "plan.toml", "plan.toml"),
    ("recordings.md", "bus.log", BUS_LOG),
    ("recordings.md", "car.dbc", "../crates/candor-lab/tests/cmd/car.dbc"),
    ("recordings.md", "cut.log", "(1700000000.000000) can0 123#11\n(1700000000.001000) can0 123#22"),
    ("recordings.md", "drive.log", "../crates/candor-lab/tests/cmd/drive.log"),
    ("safety.md", "candor.toml", "01-forward.toml"),
    ("signed.md", "border.pub", "../crates/candor-config/src/signature/fixtures/a.pub"),
    ("signed.md", "car.toml", "../crates/candor-config/src/signature/fixtures/car.toml"),
    ("signed.md", "car.toml.minisig", "../crates/candor-config/src/signature/fixtures/hashed.minisig"),
    ("state.md", "gateway.toml", "01-forward.toml"),
    ("top.md", "car.toml", "01-forward.toml"),
    ("wire.md", "bench.toml", "bench.toml"),
    ("wire.md", "gateway.toml", WIRE_GATEWAY),
    ("wire.md", "inversion.log", "../docs/wire/inversion.log"),
];

/// Results of small plans, in the directories of the pages that use some: name, and place in the folder of this test.
const RESULTS: [(&str, &str); 5] = [
    ("plan.results", "before.results"),
    ("before.results", "before.results"),
    ("after.results", "after.results"),
    ("before.record.csv", "before.results/blocks/f6ba597fe8c6b37b/f83b1ef7437c7626.record.csv"),
    ("after.record.csv", "after.results/blocks/f6ba597fe8c6b37b/f83b1ef7437c7626.record.csv"),
];

/// From can1 to can2.
const WIRE_GATEWAY: &str = "bus.first.interface = \"can1\"\nbus.second.interface = \"can2\"\n[[route]]\nname = \"all\"\nfrom = \"first\"\nto = \"second\"\n";

/// Programs of hosts that guests lack.
const PROGRAMS: &str = "sudo() { \"$@\"; }
curl() { printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' | nc 127.0.0.1 9316; }
";

/// Before the commands of a page in the guest.
const CLEAN: &str = "cangw -F; for bus in vcan0 vcan1 vcan2; do tc qdisc del dev $bus root; done 2> /dev/null";

/// Ends what runs in the background, and waits for it.
const STOP: &str = "for one in $background; do kill $one; wait $one; done > /dev/null 2>&1; background=";

/// Starts the lines that separate the outputs of commands in a guest.
const MARK: &str = "@@ ";

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Host,
    /// On the host, but it boots guests.
    Laboratory,
    Guest,
    UsbGuest,
    Night,
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
    /// `None` if the block shows no output.
    output: Option<Vec<String>>,
    status: i32,
    /// True if numbers may differ, and standard error is not shown.
    about: bool,
    background: bool,
}

struct Page {
    name: String,
    /// True if all of its TOML blocks are files.
    has_files_only: bool,
    blocks: Vec<(usize, Block)>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn pages() -> Vec<Page> {
    let in_folder = |folder: &str| fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        in_folder("docs").chain(in_folder("docs/how-to")).chain([root().join("README.md")]).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    let page = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let has_files_only =
            ["README.md", "tutorial.md"].contains(&&*name) || path.parent().unwrap().ends_with("how-to");
        Page { blocks: blocks(&name, &fs::read_to_string(path).unwrap()), name, has_files_only }
    };
    paths.into_iter().map(page).collect()
}

/// The blocks of a page with the numbers of their first lines.
fn blocks(page: &str, text: &str) -> Vec<(usize, Block)> {
    let mut found = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let text: Vec<_> = lines.by_ref().map(|(line, _)| line).take_while(|line| *line != "```").collect();
        let (kind, attributes) = kind.split_once(',').unwrap_or((kind, ""));
        let block = match kind {
            "toml" => {
                let name =
                    text.first().and_then(|first| first.strip_prefix("# ")).filter(|name| name.ends_with(".toml"));
                Block::File { name: name.map(str::to_owned), text: text.join("\n") + "\n" }
            }
            "console" => {
                let attributes: Vec<_> = attributes.split(',').filter(|attribute| !attribute.is_empty()).collect();
                let has = |attribute| attributes.contains(&attribute);
                let mut commands = commands(&text, number + 1, i32::from(has("fails")), has("about"));
                commands.iter_mut().for_each(|shown| shown.background = has("background"));
                let boots = commands.iter().any(|shown| shown.command.starts_with("candor-lab "));
                let place = match attributes.first().map(|first| first.split_once(':').unwrap_or((first, ""))) {
                    Some(("ignore", reason)) if REASONS.contains(&reason) => Place::Nowhere,
                    Some(("guest", "")) => Place::Guest,
                    Some(("guest", "usb")) => Place::UsbGuest,
                    Some(("nightly", "")) => Place::Night,
                    None | Some(("fails", "")) if boots => Place::Laboratory,
                    None | Some(("fails", "")) => Place::Host,
                    Some(other) => panic!("{page}:{number}: {other:?}"),
                };
                Block::Console { place, commands }
            }
            _ => {
                let is_command = text.iter().any(|line| line.starts_with("$ "));
                assert!(!is_command, "{page}:{number}: commands in a block that is not console");
                continue;
            }
        };
        found.push((number, block));
    }
    found
}

fn commands(text: &[&str], first: usize, status: i32, about: bool) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut output = Vec::new();
    for (line, number) in text.iter().zip(first..) {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => {
                all.push(Shown {
                    line: number,
                    command: command.to_owned(),
                    output: None,
                    status,
                    about,
                    background: false,
                });
                output.push(Vec::new());
            }
            (None, Some(last)) if last.command.ends_with('\\') => write!(last.command, "\n{line}").unwrap(),
            (None, _) => output.last_mut().unwrap_or_else(|| panic!("line {number}")).push(line.trim_end().to_owned()),
        }
    }
    if output.iter().any(|output| !output.is_empty()) {
        all.iter_mut().zip(output).for_each(|(shown, output)| shown.output = Some(output));
    }
    all
}

/// Compares lines; `...` stands for any lines.
fn agree(expected: &[String], found: &[String]) -> bool {
    match expected {
        [] => found.is_empty(),
        [any, rest @ ..] if any == "..." => (0..=found.len()).any(|skipped| agree(rest, &found[skipped..])),
        [line, rest @ ..] => found.split_first().is_some_and(|(first, found)| first == line && agree(rest, found)),
    }
}

fn judge(page: &str, shown: &Shown, status: Option<i32>, output: &str, wrong: &mut Vec<String>) {
    let without_numbers = |line: &String| {
        let line = line.replace(|character: char| character.is_ascii_digit(), "0");
        line.split('0').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("0")
    };
    let plain = |line: &String| line.trim_end().to_owned();
    let lines = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| if shown.about { without_numbers(line) } else { plain(line) }).collect()
    };
    let found: Vec<_> = output.lines().map(str::to_owned).collect();
    let is_output_right = shown.output.as_ref().is_none_or(|expected| agree(&lines(expected), &lines(&found)));
    if status != Some(shown.status) || !is_output_right {
        let Shown { line, command, output: expected, .. } = shown;
        wrong.push(format!("{page}:{line}: $ {command}\n{output}status {status:?}; expected {expected:#?}"));
    }
}

/// The files of a page, those it shows and those it does not.
fn files<'a>(page: &'a Page, pages: &'a [Page]) -> Vec<(&'a str, String)> {
    let shown = |page: &'a Page| {
        page.blocks.iter().filter_map(|(_, block)| match block {
            Block::File { name: Some(name), text } => Some((name.as_str(), text.clone())),
            _ => None,
        })
    };
    let hidden = FILES.iter().filter(|(of, ..)| *of == page.name).map(|(_, name, source)| {
        if source.contains('\n') {
            return (*name, (*source).to_owned());
        }
        let elsewhere = pages.iter().flat_map(shown).find(|(name, _)| name == source);
        let example = || fs::read_to_string(root().join("examples").join(source)).unwrap();
        (*name, elsewhere.map_or_else(example, |(_, text)| text))
    });
    hidden.chain(shown(page)).collect()
}

/// The directory with both programs: `CANDOR_STATIC`, or that of the programs built with this test. `None`, after printing
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

fn shell(command: &str, folder: &Path, path: &std::ffi::OsStr) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null()).current_dir(folder).env("PATH", path);
    shell
}

/// Runs the console blocks of a place, in one directory per page with the files of the page and the examples.
fn run_on_host(place: &Place, programs: &Path) {
    let mut path = vec![programs.to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = std::env::join_paths(path).unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    let pages = pages();
    for page in &pages {
        let folder = tempfile::tempdir().unwrap();
        symlink(root().join("examples"), folder.path().join("examples")).unwrap();
        if ["cluster.md", "measure-a-kernel.md", "plans.md"].contains(&&*page.name) {
            for (name, source) in RESULTS {
                symlink(root().join("crates/candor-lab/tests/cmd").join(source), folder.path().join(name)).unwrap();
            }
        }
        for (name, text) in files(page, &pages) {
            let mode = fs::Permissions::from_mode(if name.ends_with(".sh") { 0o755 } else { 0o644 });
            fs::write(folder.path().join(name), text).unwrap();
            fs::set_permissions(folder.path().join(name), mode).unwrap();
        }
        for (_, block) in &page.blocks {
            let Block::Console { place: its, commands } = block else { continue };
            for shown in commands.iter().filter(|_| its == place) {
                let command = format!("exec 2>&1\n{}", shown.command);
                let output = shell(&command, folder.path(), &path).output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout);
                judge(&page.name, shown, output.status.code(), &text, &mut wrong);
                count += 1;
            }
        }
    }
    assert!(count > 5, "{count} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn files_are_valid() {
    let mut count = 0;
    for page in pages().iter().filter(|page| page.has_files_only) {
        for (line, block) in &page.blocks {
            let Block::File { name, text } = block else { continue };
            let place = format!("{}:{line}", page.name);
            assert!(name.is_some(), "{place}: the first line is not # FILE.toml");
            count += 1;
            if text.contains("[factor]") {
                let loaded = experiment::load(text.as_bytes(), experiment::Available::default());
                assert!(loaded.as_ref().is_ok_and(|loaded| loaded.warnings.is_empty()), "{place}: {loaded:#?}");
            } else {
                let mut read =
                    |path: &str| fs::read(root().join("examples").join(path)).map_err(|error| error.to_string());
                let loaded = candor_config::config::load_for(text.as_bytes(), None, &mut read);
                assert!(loaded.is_ok(), "{place}: {loaded:#?}");
            }
        }
    }
    assert!(count > 10, "{count} files");
}

/// Runs all commands with stubs that record how they were called, and the calls with `--help` at the end: clap reports
/// unknown options and invalid values first.
#[test]
fn all_command_lines_are_accepted() {
    const STUB: &str = "#!/bin/sh\nprintf '%s\\n' \"${0##*/}\" \"$@\" \"\" >> \"$CALLS\"\n";
    let Some(programs) = programs() else { return };
    let stubs = tempfile::tempdir().unwrap();
    for (name, text) in [("candor", STUB), ("candor-lab", STUB), ("sudo", "#!/bin/sh\nexec \"$@\"\n")] {
        let stub = stubs.path().join(name);
        fs::write(&stub, text).unwrap();
        fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let (mut count, mut wrong) = (0, Vec::new());
    for page in pages() {
        for (_, block) in &page.blocks {
            let Block::Console { commands, .. } = block else { continue };
            for shown in commands {
                let folder = tempfile::tempdir().unwrap();
                let calls = folder.path().join("calls");
                fs::write(&calls, "").unwrap();
                // Other programs are not found.
                let mut shell = shell(&shown.command, folder.path(), stubs.path().as_os_str());
                shell.env("CALLS", &calls).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
                for call in fs::read_to_string(&calls).unwrap().split_terminator("\n\n") {
                    let mut words = call.lines();
                    let mut program = Command::new(programs.join(words.next().unwrap()));
                    program.args(words.take_while(|word| *word != "--")).arg("--help").stdin(Stdio::null());
                    let output = program.output().unwrap();
                    if !output.status.success() {
                        let message = String::from_utf8_lossy(&output.stderr);
                        wrong.push(format!("{}:{}: $ {}\n{message}", page.name, shown.line, shown.command));
                    }
                    count += 1;
                }
            }
        }
    }
    assert!(count > 100, "{count} calls");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn commands_on_the_host_print_the_documented_output() {
    let Some(programs) = programs() else { return };
    run_on_host(&Place::Host, &programs);
}

#[test]
#[ignore = "boots guests"]
fn commands_of_the_laboratory_print_the_documented_output() {
    let Some(programs) = static_programs() else { return };
    run_on_host(&Place::Laboratory, &programs);
}

#[test]
#[ignore = "boots guests for minutes"]
fn commands_of_the_night_print_the_documented_output() {
    let Some(programs) = static_programs() else { return };
    run_on_host(&Place::Night, &programs);
}

#[test]
#[ignore = "boots a guest"]
fn commands_in_a_guest_print_the_documented_output() {
    run_in_guest(&Place::Guest, &[]);
}

#[test]
#[ignore = "boots a guest"]
fn commands_in_a_guest_with_usb_print_the_documented_output() {
    run_in_guest(&Place::UsbGuest, &["--testbed", "icount"]);
}

/// Runs the console blocks of a place in one guest.
fn run_in_guest(place: &Place, guest: &[&str]) {
    let Some(programs) = static_programs() else { return };
    let pages = pages();
    let mut script = PROGRAMS.to_owned();
    let mut all = Vec::new();
    for page in &pages {
        let of_page = page.blocks.iter().filter_map(|(_, block)| match block {
            Block::Console { place: its, commands } if its == place => Some(commands),
            _ => None,
        });
        let of_page: Vec<_> = of_page.collect();
        if of_page.is_empty() {
            continue;
        }
        write!(script, "{CLEAN}\nmkdir /root/{0} && cd /root/{0}\n", page.name).unwrap();
        for (name, text) in files(page, &pages) {
            write!(script, "cat > {name} <<'END'\n{text}END\n").unwrap();
        }
        // The jobs of a script are in the kernel.
        script.push_str("if [ -f gateway.sh ]; then sh gateway.sh; fi\n");
        for block in of_page {
            if block.iter().any(|shown| shown.background) {
                writeln!(script, "{STOP}").unwrap();
            }
            for shown in block {
                let errors = if shown.about { "/dev/null" } else { "&1" };
                let command = match shown.background {
                    false => format!("{{ {}\n}} 2>{errors}", shown.command),
                    true => in_background(shown, errors),
                };
                write!(script, "echo '{MARK}'\n{command}\necho \"{MARK}$?\"\n").unwrap();
                all.push((&page.name, shown));
            }
        }
        writeln!(script, "{STOP}").unwrap();
    }
    assert!(!all.is_empty(), "no commands");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("book.sh");
    fs::write(&file, script).unwrap();
    let mut command = Command::new(programs.join("candor-lab"));
    command.arg("run").args(guest).args(["--timeout", "2min", "--copy"]).arg(&file).args(["--", "sh", "book.sh"]);
    let output = command.output().unwrap();
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

/// Starts a command, prints its first output, and succeeds if it still runs.
fn in_background(shown: &Shown, errors: &str) -> String {
    let command = shown.command.strip_prefix("sudo ").unwrap_or(&shown.command);
    // Without its comment.
    let command = command.split(" #").next().unwrap_or(command);
    let output = format!("output-{}", shown.line);
    let start = format!("{command} > {output} 2>{errors} &\nbackground=\"$! $background\"");
    let first = format!("for second in 1 2 3 4 5 6 7 8; do sleep 1; [ -s {output} ] && break; done");
    format!("{start}\n{first}\nsleep 0.5; cat {output}; kill -0 $!")
}
