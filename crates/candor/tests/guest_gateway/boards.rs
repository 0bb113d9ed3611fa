//! `candor-lab measure` with the gateway on a board: testbed `ssh`, with this guest as the board of itself.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use candor_io::process;
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::candor::{Place, lab, said};
use crate::measured::{cells, leftovers, wait_until, written};
use crate::require::{Feature, jobs_between, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw, Feature::Ssh];

/// A server on the loopback interface, for as long as this lives.
struct Server {
    child: Child,
    folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let mut client = Client::open().unwrap();
        let loopback = link::by_name(&mut client, "lo").unwrap().unwrap();
        link::set_up(&mut client, loopback.index).unwrap();
        // Guests have no users, and sshd wants one of its own besides root.
        fs::create_dir_all("/etc").unwrap();
        fs::write("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:100::/run/sshd:/bin/false\n").unwrap();
        fs::create_dir_all("/run/sshd").unwrap();
        fs::create_dir_all("/tmp").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &at(key)]).status();
            assert!(made.unwrap().success());
        }
        let given = |name: &str| std::env::var(name).unwrap_or_default();
        fs::create_dir(at("bin")).unwrap();
        let text = format!(
            "Port 2222\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n\
             SetEnv PATH={}:{} LD_LIBRARY_PATH={} TMPDIR={}\n",
            at("host"),
            at("user.pub"),
            at("bin"),
            given("PATH"),
            given("LD_LIBRARY_PATH"),
            at("tmp")
        );
        fs::create_dir(folder.path().join("tmp")).unwrap();
        fs::write(at("config"), text).unwrap();
        // It starts itself anew for each connection, and wants to know where it is.
        let mut child =
            Command::new("/bin/sshd").args(["-D", "-e", "-f", &at("config")]).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.starts_with("Server listening")));
        // Whoever does not read it any more would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, folder }
    }

    fn plan(&self, folder: &Path, factors: &str) -> std::path::PathBuf {
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        let ssh = format!(
            "[bench]\nsend = \"t-left\"\nreceive = \"t-right\"\nfrom = \"t-left\"\nto = \"t-right\"\n[rules.heard]\n\
             routes = \"[[route]]\\nname = \\\"all\\\"\\nfrom = \\\"first\\\"\\nto = \\\"second\\\"\\necho = true\\n\"\n[ssh]\n\
             host = \"root@127.0.0.1\"\noptions = [\"-F\", \"none\", \"-p\", \"2222\", \"-i\", \"{}\", \"-o\", \
             \"StrictHostKeyChecking=no\", \"-o\", \"UserKnownHostsFile={}\"]\n",
            at("user"),
            at("known")
        );
        written(folder, &format!("{factors}{ssh}"))
    }

    /// Gives the board a sudo that is this script. A real one wants users, which guests have not.
    fn sudo(&self, script: &str) {
        let path = self.folder.path().join("bin/sudo");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What is in the folder for temporary files of the board.
    fn left(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path().join("tmp")).unwrap();
        names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn measure(plan: &Path) -> Command {
    let mut command = Command::new(lab());
    command.arg("measure").arg(plan).arg("--json");
    command
}

#[test]
#[ignore = "runs in a guest"]
fn a_board_runs_gateways_and_keeps_nothing() {
    let Some(_machine) = require(NEEDS) else { return };
    let (place, server) = (Place::new(), Server::start());
    let folder = tempfile::tempdir().unwrap();
    let plan = server.plan(
        folder.path(),
        "frames = 40\n[factor]\ntestbed = \"ssh\"\nrules = \"heard\"\ngateway = [\"none\", \"kernel\", \"read-write\", \"broken\"]\n\
         [gateway.broken]\ncommand = [\"candor\", \"run\", \"nothing.toml\"]\n",
    );
    let run = said(measure(&plan));
    assert_eq!(run.status, 1, "{run:?}");
    let cells = cells(&run);
    assert_eq!(cells.len(), 4);
    for (name, cell) in &cells {
        if name.starts_with("broken") {
            assert!(cell["state"]["failed"].as_str().unwrap().contains("ended"), "{cell:#}");
        } else {
            assert_eq!((&cell["state"], &cell["lost"]), (&"ok".into(), &0.into()), "{cell:#}");
        }
    }
    assert!(jobs_between(&[&place.left, &place.right]).is_empty());
    assert_eq!((leftovers(), server.left()), (Vec::new(), Vec::new()));
    let mut records = fs::read_dir(folder.path().join("plan.results/blocks")).unwrap().flat_map(|block| {
        fs::read_dir(block.unwrap().path()).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
    });
    assert!(
        records.any(|text| text.contains("\"board\":\"root@127.0.0.1\"") && text.contains("\"device\":\"kernel\""))
    );
}

#[test]
#[ignore = "runs in a guest"]
fn what_a_board_lacks_is_said_before_anything_runs() {
    let Some(_machine) = require(NEEDS) else { return };
    let (place, server) = (Place::new(), Server::start());
    let folder = tempfile::tempdir().unwrap();
    let plan = server.plan(folder.path(), "[factor]\ntestbed = \"ssh\"\ngateway = \"kernel\"\n");
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&plan, text.replace("to = \"t-right\"", "to = \"t-nowhere\"")).unwrap();
    let run = said(measure(&plan));
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("root@127.0.0.1 is not ready to measure: There is no interface t-nowhere"), "{run:?}");
    fs::write(&plan, text.replace("2222", "2223")).unwrap();
    let mut command = measure(&plan);
    command.arg("--out").arg(folder.path().join("unreached"));
    let run = said(command);
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("does `ssh root@127.0.0.1 true` work?"), "{run:?}");
    assert_eq!(server.left(), Vec::<String>::new());
    drop(place);
}

#[test]
#[ignore = "runs in a guest"]
fn sudo_gives_the_gateway_its_rights_or_says_that_it_does_not() {
    let Some(_machine) = require(NEEDS) else { return };
    let (place, server) = (Place::new(), Server::start());
    let folder = tempfile::tempdir().unwrap();
    let plan = server.plan(
        folder.path(),
        "frames = 20\n[factor]\ntestbed = \"ssh\"\nrules = \"heard\"\ngateway = [\"none\", \"kernel\"]\n",
    );
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&plan, text.replace("[ssh]\n", "[ssh]\nsudo = true\n")).unwrap();
    server.sudo("echo 'sudo: a password is required' >&2; exit 1");
    let run = said(measure(&plan));
    assert_eq!(run.status, 2, "{run:?}");
    assert!(
        run.err.contains("a password is required") && run.err.contains("does `sudo -n true` work there?"),
        "{run:?}"
    );

    let log = server.folder.path().join("log");
    server.sudo(&format!("[ \"$1\" = -n ] || exit 9\nshift\necho \"$@\" >> {}\nexec \"$@\"", log.display()));
    let run = said(measure(&plan));
    assert_eq!(run.status, 0, "{run:?}");
    assert!(cells(&run).iter().all(|(_, cell)| cell["state"] == "ok"), "{run:?}");
    let by_sudo = fs::read_to_string(log).unwrap();
    for words in [" look ", " keep"] {
        assert!(by_sudo.lines().any(|line| line.starts_with('/') && line.contains(words)), "{by_sudo}");
    }
    assert!(jobs_between(&[&place.left, &place.right]).is_empty());
    assert_eq!((leftovers(), server.left()), (Vec::new(), Vec::new()));
}

/// Processes whose command line holds all of these words.
fn processes(words: &[&str]) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let path = entry.ok()?.path();
        let line = String::from_utf8_lossy(&fs::read(path.join("cmdline")).ok()?).replace('\0', " ");
        let pid: u32 = path.file_name()?.to_str()?.parse().ok()?;
        words.iter().all(|word| line.contains(word)).then_some(pid)
    });
    all.collect()
}

#[test]
#[ignore = "runs in a guest"]
fn a_broken_connection_leaves_nothing_on_the_board() {
    let Some(_machine) = require(NEEDS) else { return };
    let (place, server) = (Place::new(), Server::start());
    let folder = tempfile::tempdir().unwrap();
    let plan = server.plan(
        folder.path(),
        "frames = 1_000_000\n[factor]\ntestbed = \"ssh\"\nrules = \"heard\"\ngateway = \"kernel\"\nload = \"cpu 1\"\n",
    );
    let jobs = || jobs_between(&[&place.left, &place.right]);
    for way in ["connection", "tester", "cable"] {
        let child = measure(&plan).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("no job", || !jobs().is_empty());
        wait_until("no load", || leftovers().iter().any(|line| line.contains(" relay")));
        // It is in the middle of its series, which would last for an hour.
        wait_until("no frame", || jobs().iter().any(|job| job.counters.handled > 20));
        assert!(!server.left().is_empty());
        let tester_side = || [processes(&["ssh -F none"]), processes(&[" cells "]), vec![child.id()]].concat();
        match way {
            "connection" => processes(&["ssh -F none", " -M "]).into_iter().for_each(|pid| process::kill(pid).unwrap()),
            "tester" => process::kill(child.id()).unwrap(),
            // Nothing comes any more, and nothing says so.
            _ => tester_side().into_iter().for_each(|pid| process::pause(pid).unwrap()),
        }
        wait_until("jobs stay", || jobs().is_empty());
        wait_until("gateways stay", || {
            !leftovers().iter().any(|line| line.contains(" run ") || line.contains(" relay"))
        });
        if way == "cable" {
            tester_side().into_iter().for_each(|pid| process::kill(pid).unwrap());
        }
        let ended = child.wait_with_output().unwrap();
        if way == "connection" {
            let text = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(1), "{text}");
            assert!(text.contains("The connection to root@127.0.0.1 is gone"), "{text}");
        }
        wait_until("processes stay", || leftovers().is_empty());
        wait_until("files stay", || server.left().is_empty());
        let blocks = fs::read_dir(folder.path().join("plan.results/blocks")).unwrap();
        let names: Vec<_> = blocks.map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| name.to_string_lossy().ends_with(".part")), "{way}: {names:?}");
    }
}
