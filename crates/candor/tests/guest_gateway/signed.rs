//! Gateways that take only signed files, and audit lines.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;

use candor_config::signature::invariants::TestKey;

use crate::prelude::*;

const KEYS: &str = "/etc/candor/keys.d";
const JOURNAL: &str = "/run/systemd/journal/socket";

fn gateway(more: &str) -> String {
    format!("{LEFT_RIGHT}{}{more}", route("over", "left", "right", "match = \"123\"\necho = true"))
}

fn back() -> String {
    route("back", "right", "left", "match = \"124\"\necho = true")
}

impl Scenario {
    /// Writes the signature of a text beside `gateway.toml`.
    fn sign(&self, text: &str, key: u8, comment: &str) {
        self.file("gateway.toml.minisig", &TestKey::new(key).sign(text.as_bytes(), comment));
    }

    fn signed(&self, text: &str, key: u8, comment: &str) -> String {
        self.sign(text, key, comment);
        self.file("gateway.toml", text)
    }

    fn key(&self, key: u8) -> String {
        self.file(&format!("{key}.pub"), &TestKey::new(key).file())
    }

    /// A reload that is refused for this reason.
    #[track_caller]
    fn refuses(&self, candor: &Candor, why: &str) {
        let reload = self.candor(&["reload", "--json"]);
        assert_eq!(reload.status, 1, "{reload:?}");
        let answer = reload.json();
        assert_eq!(answer["findings"][0]["code"], "E0108", "{answer}");
        assert!(answer["findings"][0]["message"].as_str().unwrap().contains(why), "{answer}");
        let audit = candor.event(&["audit"]);
        assert_eq!((&audit["cause"], &audit["signal"]), (&"reload".into(), &"SIGHUP".into()), "{audit}");
        assert_eq!((&audit["uid"], &audit["because"]), (&0.into(), &"the file is not valid".into()), "{audit}");
        assert_eq!((&audit["added"], &audit["changed"]), (&json!([]), &json!([])), "{audit}");
        assert_eq!(audit["files"][0]["blake2b_hex"].as_str().unwrap().len(), 128, "{audit}");
    }
}

/// The keys of the machine, which no other test may meet.
struct MachineKeys;

impl MachineKeys {
    fn new(key: u8) -> Self {
        fs::create_dir_all(KEYS).unwrap();
        fs::set_permissions(KEYS, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{KEYS}/border.pub");
        fs::write(&path, TestKey::new(key).file()).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        Self
    }
}

impl Drop for MachineKeys {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(KEYS);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_tampered_file_keeps_the_old_rules() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let (first, second) = (gateway(""), gateway(&back()));
    let (key, file) = (scene.key(1), scene.signed(&first, 1, "timestamp:1\tfile:gateway.toml\thashed"));
    let run = ["run", &file, "--engine", "read-write", "--json", "--seccomp", "--verify-key", &key];
    let candor = Candor::spawn(&mut scene.command(&run), "").ready();
    let ready = candor.before_ready.last().unwrap();
    assert_eq!((&ready["signed"]["key_id"], &ready["signed"]["key_file"]), (&"1".into(), &Value::from(key)), "{ready}");
    let audit = candor.event(&["audit"]);
    assert_eq!((&audit["cause"], &audit["added"]), (&"start".into(), &json!(["over"])), "{audit}");
    assert_eq!((&audit["uid"], &audit["pid"]), (&0.into(), &candor.pid().into()), "{audit}");
    assert_eq!(audit["files"][0]["signed"], ready["signed"], "{audit}");
    let signed = || scene.json(&["status"])["owners"][0]["signed"]["comment"].clone();
    assert_eq!(signed(), "timestamp:1\tfile:gateway.toml\thashed");

    let (sends, hears) = (scene.sender("left"), scene.listener("right"));
    let crosses = || {
        send(&sends, &classic(0x123, &[7]));
        assert_eq!(next_frame(&hears), classic(0x123, &[7]));
    };
    crosses();
    // Changed after signing, unsigned, of another key, of another name, and no signature.
    scene.file("gateway.toml", &second);
    scene.refuses(&candor, "is not that of its content");
    scene.sign(&second, 2, "of another key");
    scene.refuses(&candor, "is of the key 2; accepted: 1");
    scene.sign(&second, 1, "file:other.toml");
    scene.refuses(&candor, "of a file with the name \"other.toml\"");
    scene.file("gateway.toml.minisig", &TestKey::new(1).sign(second.as_bytes(), "yes").replace("yes", "no"));
    scene.refuses(&candor, "the trusted comment of its signature");
    scene.file("gateway.toml.minisig", "");
    scene.refuses(&candor, "does not have the four lines");
    fs::remove_file(scene.files.path().join("gateway.toml.minisig")).unwrap();
    scene.refuses(&candor, "is not signed");
    crosses();
    assert_eq!(signed(), "timestamp:1\tfile:gateway.toml\thashed", "that of the running file");

    scene.sign(&second, 1, "the second");
    scene.candor(&["reload"]).assert(0, &["new: back"]);
    let audit = candor.event(&["audit"]);
    assert_eq!((&audit["added"], &audit["because"]), (&json!(["back"]), &Value::Null), "{audit}");
    assert_eq!(audit["files"][0]["signed"]["comment"], "the second", "{audit}");
    assert_eq!(signed(), "the second");
    let ended = candor.stop();
    let audit = ended.event("audit");
    assert_eq!((&audit["cause"], &audit["signal"]), (&"end".into(), &"SIGTERM".into()), "{audit}");
    assert_eq!((&audit["removed"], &audit["pid"]), (&json!(["over", "back"]), &std::process::id().into()), "{audit}");
}

#[test]
#[ignore = "runs in a guest"]
fn a_machine_with_keys_starts_only_signed_files() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let text = gateway("");
    let file = scene.file("gateway.toml", &text);
    let _keys = MachineKeys::new(1);
    let run = ["run", &file, "--engine", "read-write"];
    scene.candor(&run).assert(1, &["E0108", "it is not signed", &format!("minisign -Sm {file}")]);
    let own_key = scene.key(2);
    scene.sign(&text, 2, "by a key of the user");
    scene.candor(&run).assert(1, &["is of the key 2; accepted: 1 (/etc/candor/keys.d/border.pub)"]);
    let with_option = [&run[..], &["--verify-key", &own_key]].concat();
    scene.candor(&with_option).assert(2, &["the key 2 of", "is not in /etc/candor/keys.d"]);
    output_of(&mut scene.command(&["run", "-", "--engine", "read-write"]), &text)
        .assert(1, &["standard input has no signature"]);
    scene.candor(&["check", &file]).assert(0, &["valid"]);
    scene.sign(&text, 1, "by the border office");
    let candor = Candor::spawn(&mut scene.command(&[&run[..], &["--json", "--seccomp"]].concat()), "").ready();
    assert_eq!(candor.before_ready.last().unwrap()["signed"]["comment"], "by the border office");
    candor.stop();
}

#[test]
#[ignore = "runs in a guest"]
fn apply_needs_a_signature_and_the_journal_says_who_applied() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    let text = gateway(&back());
    let (key, file) = (scene.key(1), scene.signed(&text, 1, "ticket 12"));
    fs::create_dir_all("/run/systemd/journal").unwrap();
    let journal = UnixDatagram::bind(JOURNAL).unwrap();
    journal.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let said = || loop {
        let mut bytes = [0; 8192];
        let len = journal.recv(&mut bytes).unwrap();
        // The library sends an empty message to see if the journal exists.
        if len > 0 {
            return String::from_utf8_lossy(&bytes[..len]).into_owned();
        }
    };
    let has = |words: &[&str]| {
        let text = said();
        assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text:?}");
    };
    let signed = ["--verify-key", &key];
    let other = scene.key(2);
    let command = |command: &str, options: &[&str]| scene.candor(&[&[command, &file], options].concat());
    for refused in ["apply", "plan", "check", "down"] {
        command(refused, &["--verify-key", &other]).assert(1, &["E0108", "is of the key 1; accepted: 2"]);
    }
    scene.assert_clean();
    for accepted in ["check", "plan"] {
        command(accepted, &signed).assert(0, &["signed by 1 of", "\"ticket 12\""]);
    }
    command("apply", &signed).assert(0, &["4 added", "signed by 1 of"]);
    has(&["CANDOR_CAUSE", "apply", "CANDOR_BLAKE2B_HEX", "CANDOR_KEY_ID", "\"ticket 12\"; added: back, over"]);
    assert_eq!(scene.json(&["status"])["owners"][0]["signed"]["comment"], "ticket 12");
    // Without keys, too.
    let without_back = scene.file("gateway.toml", &gateway(""));
    let applied = scene.json(&["apply", &without_back]);
    assert_eq!(applied["audit"]["removed"], json!(["back"]), "{applied}");
    has(&["not verified; removed: back"]);
    assert_eq!(scene.json(&["status"])["owners"][0]["signed"], Value::Null);
    assert_eq!(scene.json(&["down", &file])["audit"]["removed"], json!(["over"]));
    has(&["CANDOR_CAUSE", "down", "removed: over"]);
    scene.assert_clean();

    // Text goes to standard output, and its audit lines to the journal.
    let run = ["run", &file, "--engine", "read-write", "--seccomp"];
    let mut candor = Guarded::spawn(scene.command(&run).stdin(Stdio::null()).stdout(Stdio::null()));
    has(&["audit: start by uid 0", "added: over"]);
    signal::send(candor.id(), Signal::Terminate).unwrap();
    has(&["audit: end by uid 0", "SIGTERM", "removed: over"]);
    assert!(candor.wait().unwrap().success());
    drop(journal);
    fs::remove_file(JOURNAL).unwrap();
}
