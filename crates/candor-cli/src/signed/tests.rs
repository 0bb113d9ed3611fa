use std::os::unix::fs::PermissionsExt as _;

use candor_config::signature::blake2b;
use candor_config::signature::invariants::TestKey;
use tempfile::TempDir;

use super::*;
use crate::gateway_file::GatewayFile;

const COMMENT: &str = "timestamp:1795792470\tfile:car.toml\thashed";
const FILE: &str = "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n\
                    [database]\na = \"db/car.dbc\"\n\
                    [[route]]\nname = \"speed\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"Speed\"\n";
const DATABASE: &str = "BO_ 291 Speed: 8 A\n SG_ Value : 0|16@1+ (0.01,0) [0|0] \"\" B\n";

/// A gateway file, its database, and their signatures of a key, whose file is `one.pub`.
struct Folder {
    folder: TempDir,
    key: TestKey,
}

impl Folder {
    fn new() -> Self {
        let made = Self { folder: tempfile::tempdir().unwrap(), key: TestKey::new(1) };
        fs::create_dir(made.path("db")).unwrap();
        made.write("one.pub", made.key.file());
        made.write("other.pub", TestKey::new(2).file());
        made.write("car.toml", FILE);
        made.write("db/car.dbc", DATABASE);
        made.write("car.toml.minisig", made.key.sign(FILE.as_bytes(), COMMENT));
        made.write("db/car.dbc.minisig", made.key.sign(DATABASE.as_bytes(), "the database of the car"));
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    fn keys(&self, names: &[&str]) -> Keys {
        let options: Vec<_> = names.iter().map(|name| self.path(name).display().to_string()).collect();
        Keys::of_options(&options).unwrap()
    }

    /// The code, message and help of the only finding.
    fn refused(&self, keys: &Keys) -> (&'static str, String, String) {
        let file = GatewayFile::read_for(&self.path("car.toml"), None, keys).unwrap();
        let findings = file.checked.unwrap_err();
        let [finding] = &findings[..] else { panic!("{findings:#?}") };
        (finding.code, finding.message.clone(), finding.help.clone().unwrap())
    }
}

#[test]
fn a_signed_file_with_a_signed_database_is_read_and_says_who_signed() {
    let made = Folder::new();
    let read = |keys: &Keys| {
        let file = GatewayFile::read_for(&made.path("car.toml"), None, keys).unwrap();
        assert_eq!(file.checked.as_ref().unwrap().plan.routes().len(), 1);
        assert!(!file.is_not_signed());
        file.contents
    };
    let signed = read(&made.keys(&["other.pub", "one.pub"]));
    let signer = signed[0].signer.as_ref().unwrap();
    assert_eq!((signer.key_id.as_str(), signer.comment.as_str()), ("1", COMMENT));
    assert_eq!(signer.key_file, made.path("one.pub").display().to_string());
    assert_eq!(signed[0].digest, blake2b(FILE.as_bytes()));
    assert_eq!(signed[1].file, made.path("db/car.dbc").display().to_string());
    assert_eq!(signed[1].signer.as_ref().unwrap().comment, "the database of the car");

    let itself = Keys::of_options(&[made.key.base64()]).unwrap();
    assert_eq!(read(&itself)[0].signer.as_ref().unwrap().key_file, "--verify-key");

    let without: Vec<_> = read(&Keys::NONE).into_iter().map(|content| content.signer).collect();
    assert_eq!(without, [None, None]);
}

#[test]
fn a_changed_file_is_not_parsed() {
    let made = Folder::new();
    made.write("car.toml", FILE.replace("Speed", "0"));
    let (code, message, help) = made.refused(&made.keys(&["one.pub"]));
    assert_eq!(code, "E0108");
    assert!(message.contains("is not that of its content"), "{message}");
    assert_eq!(help, format!("sign it: minisign -Sm {}", made.path("car.toml").display()));
    made.write("car.toml", "no TOML");
    let file = GatewayFile::read_for(&made.path("car.toml"), None, &made.keys(&["one.pub"])).unwrap();
    assert!(file.is_not_signed() && file.source.text().is_empty() && file.contents[0].signer.is_none());
}

#[test]
fn files_without_a_right_signature_are_refused() {
    let made = Folder::new();
    let right = made.key.sign(FILE.as_bytes(), COMMENT);
    let refused_with = |signature: &[u8], why: &str| {
        made.write("car.toml.minisig", signature);
        let (code, message, _) = made.refused(&made.keys(&["one.pub"]));
        assert!(code == "E0108" && message.contains(why), "{message}");
    };
    let changed = |from: &str, to: &str| right.replacen(from, to, 1).into_bytes();
    // The signature begins in its 15th character.
    let line = right.lines().nth(1).unwrap();
    let other_bits = if line.as_bytes()[20] == b'A' { "B" } else { "A" };
    let other = format!("{}{other_bits}{}", &line[..20], &line[21..]);
    refused_with(&changed(line, &other), "is not that of its content");
    refused_with(&changed("1795792470", "1995792470"), "trusted comment of its signature");
    refused_with(made.key.sign(DATABASE.as_bytes(), "another file").as_bytes(), "is not that of its content");
    let of_other_name = made.key.sign(FILE.as_bytes(), "timestamp:1\tfile:bus.toml\thashed");
    refused_with(of_other_name.as_bytes(), "of a file with the name \"bus.toml\"");
    refused_with(b"", "does not have the four lines");
    refused_with(&vec![b'x'; 20 << 10], "more than 16 KiB");
    let of_other_key = TestKey::new(2).sign(FILE.as_bytes(), COMMENT);
    refused_with(of_other_key.as_bytes(), "is of the key 2; accepted: 1 (");
    // A key may be made with the number of another one.
    let numbered = of_other_key.replace("RUQC", "RUQB");
    assert_ne!(numbered, of_other_key);
    refused_with(numbered.as_bytes(), "is not that of its content");
    fs::remove_file(made.path("car.toml.minisig")).unwrap();
    assert!(made.refused(&made.keys(&["one.pub"])).1.contains("car.toml.minisig does not exist"));
    let unsigned = Keys::verify(&made.keys(&["one.pub"]), Path::new("-"), b"", &blake2b(b"")).unwrap_err();
    assert!(matches!(unsigned, Unsigned::StandardInput), "{unsigned}");
}

#[test]
fn a_database_needs_a_signature_too() {
    let made = Folder::new();
    let refused = || {
        let (code, message, _) = made.refused(&made.keys(&["one.pub"]));
        assert_eq!(code, "E0421");
        assert!(message.contains(&format!("sign it: minisign -Sm {}", made.path("db/car.dbc").display())), "{message}");
        message
    };
    made.write("db/car.dbc", DATABASE.replace("291", "292"));
    assert!(refused().contains("is not that of its content"));
    fs::remove_file(made.path("db/car.dbc.minisig")).unwrap();
    assert!(refused().contains("it is not signed"));
}

#[test]
fn the_keys_of_the_machine_limit_those_of_options() {
    let made = Folder::new();
    let uid = fs::metadata(made.folder.path()).unwrap().uid();
    let folder = made.path("keys.d");
    let of_machine = |names: &[&str]| {
        let options: Vec<_> = names.iter().map(|name| made.path(name).display().to_string()).collect();
        Keys::of_folder(&folder, uid, &options)
    };
    let accepts = |keys: &Keys| GatewayFile::read_for(&made.path("car.toml"), None, keys).unwrap().checked.is_ok();
    assert!(!of_machine(&[]).unwrap().are_required(), "there is no folder");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    made.write("keys.d/README", "no key");
    assert!(matches!(of_machine(&[]), Err(KeysError::NoKey)));
    assert!(matches!(of_machine(&["one.pub"]), Err(KeysError::NoKey)));
    made.write("keys.d/b.pub", TestKey::new(2).file());
    assert!(!accepts(&of_machine(&[]).unwrap()));
    let refused = of_machine(&["one.pub"]).unwrap_err().to_string();
    assert!(refused.contains("the key 1 of") && refused.contains("is not in /etc/candor/keys.d"), "{refused}");
    made.write("keys.d/a.pub", made.key.file());
    assert!(accepts(&of_machine(&[]).unwrap()) && accepts(&of_machine(&["one.pub"]).unwrap()));
    assert!(!accepts(&of_machine(&["other.pub"]).unwrap()), "an option selects");

    let mode = |name: &str, mode| fs::set_permissions(made.path(name), fs::Permissions::from_mode(mode)).unwrap();
    mode("keys.d/a.pub", 0o664);
    assert!(matches!(of_machine(&[]), Err(KeysError::Writable { .. })));
    mode("keys.d/a.pub", 0o644);
    mode("keys.d", 0o777);
    assert!(matches!(of_machine(&[]), Err(KeysError::Writable { .. })));
    mode("keys.d", 0o755);
    assert!(matches!(Keys::of_folder(&folder, uid + 1, &[]), Err(KeysError::Writable { .. })));
    made.write("keys.d/c.pub", "no key");
    assert!(matches!(of_machine(&[]), Err(KeysError::NotAKey { .. })));
    fs::remove_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(made.path("nothing"), &folder).unwrap();
    assert!(matches!(of_machine(&[]), Err(KeysError::Read { .. })), "a link to nothing is not no folder");
}

#[test]
fn unreadable_keys_are_errors() {
    let made = Folder::new();
    let read = |name: &str| Keys::of_options(&[made.path(name).display().to_string()]);
    assert!(matches!(read("nothing.pub"), Err(KeysError::Read { .. })));
    assert!(matches!(read("car.toml"), Err(KeysError::NotAKey { .. })));
    assert!(matches!(read("car.toml.minisig"), Err(KeysError::NotAKey { .. })));
}
