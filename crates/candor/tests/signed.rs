//! `candor check --verify-key`, with files and signatures of minisign 0.11.

mod candor;

use std::fs;
use std::path::Path;

use candor::candor;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../candor-config/src/signature/fixtures");

#[test]
fn a_file_signed_by_minisign_is_valid_until_it_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let take = |from: &str, to: &str| {
        fs::copy(Path::new(FIXTURES).join(from), folder.path().join(to)).unwrap();
    };
    take("car.toml", "car.toml");
    take("a.pub", "a.pub");
    take("b.pub", "b.pub");
    let check = |arguments: &[&str]| {
        let folder = folder.path().to_str().unwrap();
        candor(folder, &[&["check", "car.toml"], arguments].concat())
    };
    let json = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&check(&[arguments, &["--json"]].concat()).stdout).unwrap()
    };
    let unsigned = check(&["--verify-key", "a.pub"]);
    insta::assert_snapshot!(unsigned.stderr);
    assert_eq!((unsigned.status, unsigned.stdout.as_str()), (1, ""));

    take("hashed.minisig", "car.toml.minisig");
    assert_eq!(check(&[]).status, 0, "without the option, signatures are not read");
    let signed = check(&["--verify-key", "b.pub", "--verify-key", "a.pub"]);
    insta::assert_snapshot!(signed.stdout);
    assert_eq!(signed.status, 0);
    let key = fs::read_to_string(folder.path().join("a.pub")).unwrap();
    let itself = json(&["--verify-key", key.lines().nth(1).unwrap()]);
    assert_eq!((&itself["valid"], &itself["signed"]["key_id"]), (&true.into(), &"E38DA969D13782EF".into()));
    assert_eq!(check(&["--verify-key", "b.pub"]).status, 1);
    take("other-key.minisig", "car.toml.minisig");
    assert_eq!(check(&["--verify-key", "a.pub"]).status, 1);
    take("legacy.minisig", "car.toml.minisig");
    assert_eq!(check(&["--verify-key", "a.pub"]).status, 0);

    let text = fs::read_to_string(folder.path().join("car.toml")).unwrap();
    fs::write(folder.path().join("car.toml"), text.replace("123", "124")).unwrap();
    let changed = json(&["--verify-key", "a.pub"]);
    assert_eq!((&changed["valid"], &changed["findings"][0]["code"]), (&false.into(), &"E0108".into()));
    let no_key = check(&["--verify-key", "nothing.pub"]);
    assert!(no_key.status == 2 && no_key.stderr.contains("cannot read nothing.pub"), "{}", no_key.stderr);
}
