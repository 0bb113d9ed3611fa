//! Every file in `examples/`: valid, without warnings, and with a snapshot of `candor show`.

mod candor;

use std::fs;

use candor::candor;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

#[test]
fn examples_are_valid_and_shown() {
    let mut names: Vec<_> = fs::read_dir(EXAMPLES)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    names.sort();
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        let check = candor(EXAMPLES, &["check", &name]);
        assert_eq!((check.status, check.stderr.as_str()), (0, ""), "{name}");
        let tree = candor(EXAMPLES, &["show", &name]);
        let commands = candor(EXAMPLES, &["show", "--as", "cangw", &name]);
        assert_eq!((tree.status, commands.status), (0, 0), "{name}");
        let shown = format!("{}\n{}\n{}", check.stdout, tree.stdout, commands.stdout);
        insta::assert_snapshot!(name.trim_end_matches(".toml"), shown);
    }
}

#[test]
fn examples_are_shown_as_json_and_dot() {
    for form in ["--json", "--dot"] {
        let run = candor(EXAMPLES, &["show", form, "04-checksum.toml"]);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""));
        insta::assert_snapshot!(format!("04-checksum{form}"), run.stdout);
    }
}
