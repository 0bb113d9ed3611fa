//! `candor-lab measure` with testbed `ssh`. This guest is also the board.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt as _;

use crate::measured::{Measurement, cells, command_lines, leftovers};
use crate::prelude::*;

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw, Feature::Ssh];

/// An SSH server on the loopback interface.
struct Server {
    child: Child,
    folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let mut client = Client::open().unwrap();
        let loopback = link::by_name(&mut client, "lo").unwrap().unwrap();
        link::set_up(&mut client, loopback.index).unwrap();
        // Guests have no users, and sshd needs one besides root.
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
        // sshd executes itself for each connection and needs its absolute path.
        let mut child =
            Command::new("/bin/sshd").args(["-D", "-e", "-f", &at("config")]).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.starts_with("Server listening")));
        // A full pipe would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, folder }
    }

    /// Writes a plan that measures on this board.
    fn plan(&self, bench: &Measurement, tables: &str) {
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        let board = include_str!("measured/board.toml").replace("{user}", &at("user")).replace("{known}", &at("known"));
        bench.plan(&(tables.to_owned() + &board));
    }

    /// Installs this script as the sudo of the board. A real one needs users.
    fn sudo(&self, script: &str) {
        let path = self.folder.path().join("bin/sudo");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn temporary_files(&self) -> Vec<String> {
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

#[test]
#[ignore = "runs in a guest"]
fn a_board_runs_gateways_and_keeps_nothing() {
    let Some(bench) = Measurement::new(NEEDS) else { return };
    let server = Server::start();
    server.plan(&bench, include_str!("measured/board-gateways.toml"));
    let run = bench.run();
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
    assert!(bench.scene.jobs().is_empty());
    assert_eq!((leftovers(), server.temporary_files()), (Vec::new(), Vec::new()));
    let is_of_board =
        |text: &String| text.contains("\"board\":\"root@127.0.0.1\"") && text.contains("\"device\":\"kernel\"");
    assert!(bench.records().iter().any(is_of_board));
}

#[test]
#[ignore = "runs in a guest"]
fn reports_what_a_board_lacks_before_it_measures() {
    let Some(bench) = Measurement::new(NEEDS) else { return };
    let server = Server::start();
    let plan = || server.plan(&bench, include_str!("measured/board-kernel.toml"));
    plan();
    bench.edit("to = \"t-right\"", "to = \"t-nowhere\"");
    bench.run().assert(2, &["root@127.0.0.1 is not ready to measure: Interface t-nowhere not found"]);
    plan();
    bench.edit("2222", "2223");
    let unreached = output(bench.command().arg("--out").arg(bench.folder().join("unreached")));
    unreached.assert(2, &["does `ssh root@127.0.0.1 true` work?"]);
    assert_eq!(server.temporary_files(), Vec::<String>::new());
}

#[test]
#[ignore = "runs in a guest"]
fn sudo_gives_the_gateway_its_privileges() {
    let Some(bench) = Measurement::new(NEEDS) else { return };
    let server = Server::start();
    server.plan(&bench, include_str!("measured/board-sudo.toml"));
    bench.edit("[ssh]\n", "[ssh]\nsudo = true\n");
    server.sudo("echo 'sudo: a password is required' >&2; exit 1");
    bench.run().assert(2, &["a password is required", "does `sudo -n true` work there?"]);

    let log = server.folder.path().join("log");
    server.sudo(&format!("[ \"$1\" = -n ] || exit 9\nshift\necho \"$@\" >> {}\nexec \"$@\"", log.display()));
    let run = bench.run();
    assert_eq!(run.status, 0, "{run:?}");
    assert!(cells(&run).iter().all(|(_, cell)| cell["state"] == "ok"), "{run:?}");
    let by_sudo = fs::read_to_string(log).unwrap();
    for words in [" preflight ", " supervise"] {
        assert!(by_sudo.lines().any(|line| line.starts_with('/') && line.contains(words)), "{by_sudo}");
    }
    assert!(bench.scene.jobs().is_empty());
    assert_eq!((leftovers(), server.temporary_files()), (Vec::new(), Vec::new()));
}

fn processes(words: &[&str]) -> Vec<u32> {
    let all = command_lines().into_iter();
    all.filter(|(_, line)| words.iter().all(|word| line.contains(word))).map(|(pid, _)| pid).collect()
}

#[test]
#[ignore = "runs in a guest"]
fn a_broken_connection_leaves_nothing_on_the_board() {
    let Some(bench) = Measurement::new(NEEDS) else { return };
    let server = Server::start();
    // Longer than the test.
    server.plan(&bench, include_str!("measured/board-long.toml"));
    let kill = |pids: Vec<u32>| pids.into_iter().for_each(|pid| process::kill(pid).unwrap());
    for broken in ["connection", "tester", "cable"] {
        let child = bench.command().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        bench.wait_for_load();
        wait_until("frames pass", || bench.scene.jobs().iter().any(|job| job.counters.handled > 20));
        assert!(!server.temporary_files().is_empty());
        let tester_side = || [processes(&["ssh -F none"]), processes(&[" cells "]), vec![child.id()]].concat();
        match broken {
            "connection" => kill(processes(&["ssh -F none", " -M "])),
            "tester" => process::kill(child.id()).unwrap(),
            // No data, and no end of the connection.
            _ => tester_side().into_iter().for_each(|pid| process::pause(pid).unwrap()),
        }
        wait_until("the jobs are removed", || bench.scene.jobs().is_empty());
        wait_until("the gateways end", || {
            !leftovers().iter().any(|line| line.contains(" run ") || line.contains(" relay"))
        });
        if broken == "cable" {
            kill(tester_side());
        }
        let ended = child.wait_with_output().unwrap();
        if broken == "connection" {
            let text = String::from_utf8_lossy(&ended.stderr);
            // The board may be reached again later.
            assert_eq!(ended.status.code(), Some(75), "{text}");
            assert!(text.contains("the connection to root@127.0.0.1 is gone"), "{text}");
        }
        wait_until("the processes end", || leftovers().is_empty());
        wait_until("the files are removed", || server.temporary_files().is_empty());
        bench.assert_unfinished();
    }
}
