//! The command line: the transcripts in `tests/cmd`, errors of files, and the scripts that candor writes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/*.md");
}

const WRONG: &str = "tests/findings/five-mistakes.toml";

fn candor(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
    command.args(arguments.split(' ')).stdin(Stdio::null());
    command
}

#[test]
fn errors_name_the_file() {
    let assert_error = |command: &mut Command, expected: &str| {
        let Output { status, stderr, .. } = command.output().unwrap();
        assert_eq!((status.code(), String::from_utf8(stderr).unwrap().as_str()), (Some(2), expected));
    };
    assert_error(
        candor("check -").stdin(File::open(env!("CARGO_MANIFEST_DIR")).unwrap()),
        "candor: cannot read standard input\n  caused by: Is a directory (os error 21)\n",
    );
    assert_error(
        candor("show ../../examples/01-forward.toml").stdout(OpenOptions::new().write(true).open("/dev/full").unwrap()),
        "candor: cannot write to standard output\n  caused by: No space left on device (os error 28)\n",
    );
    assert_error(
        &mut candor("generate man /dev/null"),
        "candor: cannot write man pages to /dev/null\n  caused by: not a directory\n",
    );
}

/// Replaces candor-lab in `PATH` by a program that prints its arguments.
#[test]
fn commands_of_candor_lab_are_passed_to_the_program() {
    let built = Path::new(env!("CARGO_BIN_EXE_candor"));
    // A hard link, because candor looks where its file is.
    let folder = tempfile::tempdir_in(built.parent().unwrap()).unwrap();
    let program = folder.path().join("candor");
    std::fs::hard_link(built, &program).unwrap();
    let (sibling, path) = (folder.path().join("candor-lab"), folder.path().join("path"));
    // Another process writes them: a file that is open for writing cannot be started.
    let script = "mkdir $1 && printf '#!/bin/sh\necho \"$@\"\n' > $1/candor-lab && chmod +x $1/candor-lab && echo > $2";
    assert!(Command::new("sh").args(["-c", script, "-"]).args([&path, &sibling]).status().unwrap().success());
    let run = |arguments: &str, path: &Path| {
        let output = Command::new(&program).args(arguments.split(' ')).env("PATH", path).output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), out, err)
    };
    for (arguments, passed) in [
        ("lab --version", "--version\n"),
        ("lab kernels --json", "kernels --json\n"),
        ("measure plan.toml", "measure plan.toml\n"),
        ("help measure", "measure --help\n"),
    ] {
        assert_eq!(run(arguments, &path), (Some(0), passed.into(), String::new()), "{arguments}");
        let (status, _, error) = run(arguments, folder.path());
        assert!(status == Some(2) && error.starts_with("candor: cannot start candor-lab"), "{arguments}: {error}");
        let (status, _, error) = run(arguments, Path::new("/nowhere"));
        assert!(status == Some(2) && error.starts_with("candor: candor-lab not found"), "{arguments}: {error}");
    }
    let (status, _, error) = run("measur", &path);
    assert!(status == Some(2) && error.contains("similar subcommand exists: 'measure'"), "{error}");
    let (status, out, _) = run("help check", &path);
    assert!(status == Some(0) && out.contains("candor check"), "{out}");
}

#[test]
fn help_has_the_exit_status() {
    for command in [
        "check",
        "explain",
        "import cangw",
        "run",
        "top",
        "dump",
        "record",
        "watch",
        "reload",
        "plan",
        "apply",
        "status",
        "down",
        "show",
    ] {
        let output = candor(command).arg("--help").output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().contains("\nExit status: "), "{command}");
    }
}

#[test]
fn findings_are_json_with_json() {
    for arguments in [
        "check --json",
        "show --json",
        "explain --json --on a --frame 123#",
        "plan --json",
        "apply --json",
        "run --json",
        "dump --json --config",
        "record --json --config",
    ] {
        let Output { status, stdout, stderr } = candor(arguments).arg(WRONG).output().unwrap();
        assert_eq!((status.code(), stderr.len()), (Some(1), 0), "{arguments}");
        let answer: Value = serde_json::from_slice(&stdout).unwrap();
        assert_eq!((&answer["valid"], &answer["file"]), (&false.into(), &WRONG.into()), "{arguments}");
        assert_eq!(answer["findings"].as_array().unwrap().len(), 5, "{arguments}");
        if arguments.starts_with("run") || arguments.starts_with("dump") {
            let lines = stdout.iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!((&answer["event"], lines), (&"invalid".into(), 1));
        }
    }
}

#[test]
fn a_closed_pipe_does_not_change_the_exit_status() {
    for (arguments, last, code) in [
        ("check", "../../examples/01-forward.toml", 0),
        ("check --json", WRONG, 1),
        ("check --deny warnings", "tests/findings/warnings.toml", 1),
        ("show", "../../examples/01-forward.toml", 0),
        ("generate completions", "zsh", 0),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = candor(arguments).arg(last).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!errors.contains("candor: ") && (code == 1 || errors.is_empty()), "{arguments}: {errors}");
    }
}

/// With any names of interfaces.
#[test]
fn a_shell_reads_the_arguments_of_the_script() {
    let names = ["it's", "$x;`y`", "~a&b|c", "\"<>\\", "-s*?[a]", "#{1,2}!"];
    let mut file = String::from("engine = \"kernel\"\n");
    for (at, name) in names.iter().enumerate() {
        file += &format!("[bus.b{at}]\ninterface = {name:?}\n");
    }
    for at in 1..names.len() {
        file += &format!("[[route]]\nname = \"r{at} 'x' $y\"\nfrom = \"b0\"\nto = \"b{at}\"\nmatch = \"123~7FF\"\n");
    }
    let given = |mut command: Command, input: &str| {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let script = given(candor("show --as cangw -"), &file);
    let shown: Value = serde_json::from_str(&given(candor("show --json -"), &file)).unwrap();
    let wanted: String = shown["jobs"].as_array().unwrap().iter().rev().fold(String::new(), |text, job| {
        let words = job["cangw"].as_array().unwrap().iter().map(|word| format!("<{}>", word.as_str().unwrap()));
        text + &words.collect::<String>() + "\n"
    });
    assert_eq!(given(Command::new("sh"), &format!("cangw() {{ printf '<%s>' \"$@\"; echo; }}\n{script}")), wanted);
}
