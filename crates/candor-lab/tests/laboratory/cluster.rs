//! Plans in batch systems: the scripts of `candor-lab measure --emit`, run by Slurm and GNU parallel, and checked by the schemas
//! of Kubernetes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::plans::files;
use super::require::require;
use super::{Called, Lab};

/// Four boots of one cell.
const PLAN: &str = "
frames = 60
warm-up = 5
cells-per-guest = 1
lost-after = \"50ms\"
[factor]
gateway = [\"kernel\", \"read-write\"]
traffic = [\"one at a time\", \"50 %\"]
";

const PATIENCE: Duration = Duration::from_secs(240);

fn peer(feature: &str, variable: &str) -> Option<PathBuf> {
    let reason = format!("{variable} is unset: cargo xtask {feature} prints it");
    require(feature, std::env::var_os(variable).map(PathBuf::from), &reason)
}

/// The script of `--emit` for `plan.toml` of the laboratory's folder.
fn emitted(lab: &Lab, system: &str, shards: &str) -> String {
    let mut command = lab.command(&["measure", "plan.toml", "--emit", system, "-n", shards]);
    Called::of(command.current_dir(lab.folder.path())).exits_with(0).stdout
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what} did not happen");
        thread::sleep(Duration::from_millis(200));
    }
}

#[track_caller]
fn same_as_one_run(lab: &Lab) {
    let mut whole = lab.command(&["measure", "plan.toml", "--out", "whole"]);
    Called::of(whole.current_dir(lab.folder.path())).exits_with(0);
    let (one, merged) = (files(&lab.path("whole")), files(&lab.path("plan.results")));
    assert_eq!(one.keys().collect::<Vec<_>>(), merged.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert!(merged[name] == *bytes, "{} differs", name.display());
    }
}

/// Slurm on this host with three nodes, one processor each.
struct Slurm {
    root: PathBuf,
    folder: PathBuf,
    controller: Child,
    nodes: Vec<Child>,
}

impl Slurm {
    fn start(root: PathBuf, folder: PathBuf) -> Self {
        for part in ["state", "n1", "n2", "n3"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        // Ports that no other test uses at the same time.
        let port = 20_000 + std::process::id() % 2000 * 10;
        let configuration = include_str!("cluster/slurm.conf")
            .replace("{host}", host.trim())
            .replace("{port}", &port.to_string())
            .replace("{first}", &(port + 1).to_string())
            .replace("{last}", &(port + 3).to_string())
            .replace("{root}", &root.display().to_string())
            .replace("{folder}", &folder.display().to_string());
        fs::write(folder.join("slurm.conf"), configuration).unwrap();
        let daemon = |name: &str, arguments: &[&str]| {
            let mut command = environment(&root, &folder, root.join("usr/sbin").join(name));
            command.arg("-D").args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().unwrap()
        };
        let step = root.join("usr/sbin/slurmstepd-wlm").display().to_string();
        let controller = daemon("slurmctld-wlm", &[]);
        let nodes = ["n1", "n2", "n3"].map(|node| daemon("slurmd-wlm", &["-N", node, "-d", &step])).into();
        let slurm = Self { root, folder, controller, nodes };
        until("three idle nodes", || slurm.asks("sinfo", &["-h", "-N", "-o", "%t"]) == "idle\nidle\nidle\n");
        slurm
    }

    fn command(&self, program: &str) -> Command {
        environment(&self.root, &self.folder, self.root.join("usr/bin").join(program))
    }

    fn asks(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Submits the script, and returns the number of its array.
    fn submit(&self, lab: &Lab, script: &str, options: &[&str]) -> String {
        let mut command = self.command("/bin/sh");
        command.arg(lab.write("plan.slurm", script)).args(options);
        command.current_dir(lab.folder.path()).env("CANDOR_LAB", &lab.program).env_remove("CANDOR_STATIC");
        let said = Called::of(&mut command).exits_with(0).stdout;
        let array = said.strip_prefix("array ").and_then(|rest| rest.split(',').next());
        array.unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    fn is_empty(&self) -> bool {
        self.asks("squeue", &["-h"]).is_empty()
    }

    /// Processes of this Slurm that have this variable.
    fn processes(&self, variable: &str) -> Vec<(String, String)> {
        let conf = format!("SLURM_CONF={}", self.folder.join("slurm.conf").display());
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let id = entry.ok()?.file_name().into_string().ok().filter(|id| id.parse::<u32>().is_ok())?;
            let read = |file: &str| fs::read(Path::new("/proc").join(&id).join(file)).ok();
            let environment = read("environ")?;
            let has = |wanted: &str| environment.split(|&byte| byte == 0).any(|one| one == wanted.as_bytes());
            let words = read("cmdline")?;
            (has(&conf) && (variable.is_empty() || has(variable)))
                .then(|| (id.clone(), String::from_utf8_lossy(&words).into_owned()))
        });
        processes.collect()
    }

    /// Ends a node at once, with all that runs on it, as a power failure does.
    fn lose(&mut self, node: usize, job: &str) {
        self.nodes[node].kill().unwrap();
        self.nodes[node].wait().unwrap();
        let step = format!("slurmstepd-wlm: [{job}.batch]");
        let of_job = |(id, words): (String, String)| words.starts_with(&step).then_some(id);
        let mut victims: Vec<String> = self.processes("").into_iter().filter_map(of_job).collect();
        assert_eq!(victims.len(), 1, "{step} runs once");
        victims.extend(self.processes(&format!("SLURMD_NODENAME=n{}", node + 1)).into_iter().map(|(id, _)| id));
        assert!(victims.len() > 2, "a shard was measured: {victims:?}");
        kill(&victims);
    }
}

fn environment(root: &Path, folder: &Path, program: PathBuf) -> Command {
    let libraries = root.join("usr/lib/x86_64-linux-gnu");
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", format!("{0}:{0}/slurm-wlm", libraries.display()));
    command.env("SLURM_CONF", folder.join("slurm.conf"));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", root.join("usr/bin").display()));
    command
}

fn kill(ids: &[String]) {
    if !ids.is_empty() {
        // One may have ended by itself.
        let _status = Command::new("kill").arg("-KILL").args(ids).stderr(Stdio::null()).status().unwrap();
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _cancelled = self.command("scancel").args(["--user", "root"]).status();
        for daemon in self.nodes.iter_mut().chain([&mut self.controller]) {
            let _killed = daemon.kill();
            let _ended = daemon.wait();
        }
        let rest: Vec<String> = self.processes("").into_iter().map(|(id, _)| id).collect();
        kill(&rest);
    }
}

/// `None` after printing why.
fn slurm(lab: &Lab) -> Option<Slurm> {
    let root = peer("slurm", "CANDOR_SLURM")?;
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    require("root", is_root.then_some(()), "Slurm's daemons run as root")?;
    fs::create_dir(lab.path("slurm")).unwrap();
    Some(Slurm::start(root, lab.path("slurm")))
}

#[test]
#[ignore = "boots guests"]
fn slurm_measures_an_array_and_merges_it_at_night() {
    let Some(lab) = Lab::find() else { return };
    let Some(slurm) = slurm(&lab) else { return };
    lab.write("plan.toml", PLAN);
    let script = emitted(&lab, "slurm", "2");
    // A part of the array: merge says which shard is missing, as --array takes it.
    slurm.submit(&lab, &script, &["--array=2"]);
    until("the end of the array", || slurm.is_empty());
    let log = |name: &str| fs::read_to_string(lab.path("plan.shards").join(name)).unwrap();
    assert!(log("2.log").contains("shard 2/2 (Slurm: SLURM_ARRAY_TASK_ID=2, CANDOR_SHARDS=2)"), "{}", log("2.log"));
    assert!(
        log("merge.log").contains("2 cells missing; repeat these of the 2 shards: --array=1\n"),
        "{}",
        log("merge.log")
    );
    slurm.submit(&lab, &script, &["--array=1"]);
    until("the end of the array", || slurm.is_empty());
    assert!(log("merge.log").contains("4 of 4 cells are in plan.results"), "{}", log("merge.log"));
    same_as_one_run(&lab);
}

#[test]
#[ignore = "boots guests"]
fn slurm_repeats_the_shard_of_a_lost_node_at_night() {
    let Some(lab) = Lab::find() else { return };
    let Some(mut slurm) = slurm(&lab) else { return };
    // Long enough to be lost in the middle.
    lab.write("plan.toml", &PLAN.replace("frames = 60", "frames = 4000"));
    let array = slurm.submit(&lab, &emitted(&lab, "slurm", "4"), &[]);
    let on = |node: &str| slurm.asks("squeue", &["-h", "-w", node, "-o", "%A %K"]);
    // Measures, after the canary.
    let canary = |task: &str| lab.path(&format!("plan.shards/{task}/canaries")).is_dir();
    until("a shard on n2", || on("n2").split_whitespace().nth(1).is_some_and(canary));
    let running = on("n2");
    let words: Vec<&str> = running.split_whitespace().collect();
    let [job, task] = words[..] else { panic!("{running}") };
    slurm.lose(1, job);
    // Slurm lets two minutes pass before it starts such a task again.
    let id = format!("{array}_{task}");
    let reason = || slurm.asks("squeue", &["-h", "-j", &id, "-o", "%t %r"]);
    until("the requeue", || reason() == "PD BeginTime\n");
    slurm.asks("scontrol", &["update", &format!("JobId={id}"), "StartTime=now"]);
    until("the end of the array", || slurm.is_empty());
    let log = |name: &str| fs::read_to_string(lab.path("plan.shards").join(name)).unwrap();
    let said = log(&format!("{task}.log"));
    assert!(said.contains(&format!("the lock of shard {task}/4 is stale: Process ")), "{said}");
    assert!(said.contains(" of n2 on "), "{said}");
    assert!(log("merge.log").contains("4 of 4 cells are in plan.results"), "{}", log("merge.log"));
    same_as_one_run(&lab);
}

#[test]
#[ignore = "boots guests"]
fn gnu_parallel_measures_and_merges() {
    let Some(lab) = Lab::find() else { return };
    let Some(root) = peer("parallel", "CANDOR_PARALLEL") else { return };
    fs::create_dir(lab.path("a plan's folder")).unwrap();
    let folder = lab.path("a plan's folder");
    fs::write(folder.join("plan.toml"), PLAN).unwrap();
    let plan = folder.join("plan.toml").display().to_string();
    let script = lab.call(&["measure", &plan, "--emit", "parallel", "-n", "3"]).exits_with(0).stdout;
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("sh");
    command.arg(lab.write("plan.sh", &script)).env("CANDOR_LAB", &lab.program).env("HOME", lab.folder.path());
    command.env("PATH", format!("{}:{path}", root.join("usr/bin").display())).env("XDG_CACHE_HOME", cache());
    let run = Called::of(command.env_remove("CANDOR_STATIC")).exits_with(0);
    assert!(run.stdout.contains("4 of 4 cells are in "), "{}", run.stdout);
    fs::rename(folder.join("plan.results"), lab.path("plan.results")).unwrap();
    lab.write("plan.toml", PLAN);
    same_as_one_run(&lab);
}

/// The directory of the user's cache.
fn cache() -> PathBuf {
    let home = || Path::new(&std::env::var_os("HOME").unwrap()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from)
}

#[test]
fn jobs_of_kubernetes_have_its_schema() {
    let lab = Lab::of(Some(env!("CARGO_BIN_EXE_candor-lab").into())).unwrap();
    let Some(folder) = peer("kubernetes-validate", "CANDOR_KUBERNETES_VALIDATE") else { return };
    lab.write("plan.toml", PLAN);
    let validate = |text: &str| {
        let mut command = Command::new(folder.join("venv/bin/kubernetes-validate"));
        command.args(["--strict", "-k", "1.37"]).arg(lab.write("jobs.yaml", text));
        Called::of(&mut command)
    };
    let text = emitted(&lab, "k8s", "16");
    validate(&text).exits_with(0);
    let wrong = validate(&text.replace("completionMode", "completionMood"));
    assert_ne!(wrong.status, Some(0), "{}", wrong.stdout);
}

#[test]
fn lava_takes_the_results() {
    let lab = Lab::of(Some(env!("CARGO_BIN_EXE_candor-lab").into())).unwrap();
    let Some(root) = peer("lava", "CANDOR_LAVA") else { return };
    let results = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/before.results");
    lab.call(&["report", results, "--lava", &lab.at("lava.sh")]).exits_with(0);
    let shell = root.join("usr/lib/python3/dist-packages/lava_dispatcher/lava_test_shell");
    // As its dispatcher does: the interpreter, and a folder for programs.
    fs::create_dir(lab.path("bin")).unwrap();
    for name in ["lava-test-case", "lava-common-functions"] {
        let text = fs::read_to_string(shell.join(name)).unwrap();
        let program = lab.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}"));
        fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new("sh");
    command.arg("-e").arg(lab.path("lava.sh")).env("LAVA_RESULT_DIR", lab.folder.path());
    command.env("PATH", format!("{}:{}", lab.at("bin"), std::env::var("PATH").unwrap()));
    let said = Called::of(&mut command).exits_with(0).stdout;
    let cases = said.lines().filter(|line| line.contains("<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=")).count();
    let lines = fs::read_to_string(lab.path("lava.sh"))
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("lava-test-case "))
        .count();
    assert!(cases == lines && cases > 4, "{said}");
    assert_eq!(fs::read_dir(lab.path("results")).unwrap().count(), cases, "every name is a new one");
    assert!(said.contains("-p50 RESULT=pass UNITS=us MEASUREMENT="), "{said}");
}
