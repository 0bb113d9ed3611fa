//! can-gw jobs of candor and of cangw from can-utils: each reads what the other writes.

use candor_config::import::{self, Imported, Reading};
use candor_config::text;

use crate::forwarding;
use crate::prelude::*;
use crate::traffic::Traffic;

const SCRIPTS: u64 = 40;

fn scene() -> Option<Scenario> {
    let needs = [VCAN_AND_CANGW, &[Feature::CanUtils]].concat();
    let scene = Scenario::new(&needs, ["one", "two", "three"])?;
    flush();
    Some(scene)
}

fn flush() {
    run(&["-F"]);
    assert_eq!(listed(), []);
}

fn run(arguments: &[&str]) -> std::process::Output {
    Command::new("cangw").args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Runs the cangw commands of a script. Its words need no shell.
fn run_script(script: &str) {
    for line in script.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        assert_eq!(words.first(), Some(&"cangw"), "{script}");
        run(&words[1..]);
    }
}

/// The kernel's jobs, newest first.
fn listed() -> Vec<CangwJob> {
    cangw::dump(&mut Client::open().unwrap()).unwrap()
}

fn kernel_jobs(jobs: &[Job], interface: impl Fn(BusIndex) -> String) -> Vec<CangwJob> {
    let mut client = Client::open().unwrap();
    let mut index = |bus| link::by_name(&mut client, &interface(bus)).unwrap().unwrap().index;
    jobs.iter().map(|job| CangwJob::new(job, index(job.from), index(job.to))).collect()
}

fn imported_jobs(imported: &Imported) -> Vec<CangwJob> {
    kernel_jobs(&imported.jobs, |bus| imported.interfaces[bus.0].clone())
}

#[track_caller]
fn assert_same(found: &[CangwJob], wanted: &[CangwJob], text: &str) {
    let is_same = found.len() == wanted.len() && found.iter().zip(wanted).all(|(one, other)| one.is_same_job(other));
    assert!(is_same, "{text}\nfound {found:#?}\nwanted {wanted:#?}");
}

fn listing() -> String {
    String::from_utf8(run(&["-L"]).stdout).unwrap()
}

/// Random commands, many of which delete, change or repeat existing jobs.
struct Commands {
    random: Traffic,
    given: Vec<String>,
}

impl Commands {
    fn below(&mut self, limit: u32) -> u32 {
        self.random.below(limit)
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(u32::try_from(choices.len()).unwrap()) as usize]
    }

    fn hex(&mut self, digits: usize) -> String {
        (0..digits).map(|_| char::from_digit(self.below(16), 16).unwrap()).collect()
    }

    fn script(&mut self) -> String {
        let commands: Vec<_> = (0..=self.below(10)).map(|_| self.command()).collect();
        commands.iter().map(|command| format!("cangw {command}\n")).collect()
    }

    fn command(&mut self) -> String {
        match self.below(12) {
            0 if self.below(4) == 0 => "-F".to_owned(),
            0..=2 if !self.given.is_empty() => {
                let given = self.below(u32::try_from(self.given.len()).unwrap()) as usize;
                let action = self.pick(&["-A", "-D", "-D"]);
                format!("{action} {}", self.given[given])
            }
            _ => {
                let options = self.options();
                self.given.push(options.clone());
                format!("-A {options}")
            }
        }
    }

    fn options(&mut self) -> String {
        let ends =
            self.pick(&["-s t-one -d t-two", "-s t-two -d t-three", "-d t-one -s t-three", "-st-one -dt-one -i"]);
        let mut options = vec![ends.to_owned()];
        let is_fd = self.below(2) == 0;
        options.extend(is_fd.then(|| "-X".to_owned()));
        for flag in ["-e", "-t", "-i", "-l 1"] {
            if self.below(4) == 0 {
                options.push(flag.to_owned());
            }
        }
        if self.below(2) == 0 {
            let separator = self.pick(&[":", "~"]);
            let (id, mask) = (self.word(), self.word());
            options.push(format!("-f {id}{separator}{mask}"));
        }
        let changes = [0, 0, 1, 1, 2, 5][self.below(6) as usize];
        for _ in 0..changes {
            let change = if is_fd { self.fd_change() } else { self.change() };
            options.push(change);
        }
        if changes > 0 {
            let last = if is_fd { 64 } else { 8 };
            if self.below(3) == 0 {
                let (span, init) = (self.span(last), self.hex(2));
                options.push(format!("-x {span}:{init}"));
            }
            if self.below(3) == 0 {
                let (span, init, end, table) = (self.span(last), self.hex(1), self.hex(2), self.hex(512));
                options.push(format!("-c {span}:{init}:{end}:{table}"));
            }
        }
        if self.below(5) == 0 {
            let bytes = self.hex(32);
            let profile = self.pick(&["1:2F", "1:7", "2:", "3:", "3"]);
            options.push(format!("-p {profile}{}", if profile == "2:" { &bytes } else { "" }));
        }
        if self.below(5) == 0 {
            options.push(format!("-u {}", self.below(3)));
        }
        options.join(" ")
    }

    fn word(&mut self) -> String {
        let digits = [1, 3, 8, 8][self.below(4) as usize];
        let known = ["123", "0x7FF", "C00007FF", "DFFFFFFF", "92345678", "0"];
        if self.below(2) == 0 { self.pick(&known).to_owned() } else { self.hex(digits) }
    }

    fn span(&mut self, last: u32) -> String {
        let mut position = || i64::from(self.below(2 * last)) - i64::from(last);
        format!("{}:{}:{}", position(), position(), position())
    }

    fn change(&mut self) -> String {
        let operation = self.pick(&["AND", "OR", "XOR", "SET"]);
        let fields = self.pick(&["I", "L", "D", "ID", "ILD", "DL"]);
        let (id, len, data) = (self.word(), self.hex(2), self.hex(16));
        format!("-m {operation}:{fields}:{id}.{len}.{data}")
    }

    fn fd_change(&mut self) -> String {
        let operation = self.pick(&["AND", "OR", "XOR", "SET"]);
        let fields = self.pick(&["I", "F", "L", "D", "IFLD", "FD"]);
        let (id, flags, len, data) = (self.word(), self.hex(2), self.hex(2), self.hex(128));
        format!("-M {operation}:{fields}:{id}.{flags}.{len}.{data}")
    }
}

/// candor imports the jobs that cangw installs; it reads the list that cangw then prints, and cangw reads the script that
/// candor writes.
#[test]
#[ignore = "runs in a guest"]
fn import_agrees_with_cangw() {
    let Some(_scene) = scene() else { return };
    let (mut compared, mut most, mut refused) = (0, 0, 0);
    for seed in 0..SCRIPTS {
        let script = Commands { random: Traffic::from_seed(seed), given: Vec::new() }.script();
        flush();
        run_script(&script);
        let found = listed();
        let imported = match import::cangw(script.as_bytes(), Some(Reading::Script)) {
            Ok(imported) => imported,
            Err(findings) => {
                // candor refuses a script without jobs at its end, and one with a uid that the kernel refuses.
                let codes: Vec<_> = findings.iter().map(|finding| finding.code).collect();
                let is_refused = ["E0907", "E0908", "E0909"].iter().any(|code| codes.contains(code));
                assert!(is_refused, "{script}\n{findings:#?}");
                assert!(found.is_empty() || codes != ["E0908"], "{script}\n{found:#?}");
                refused += 1;
                continue;
            }
        };
        assert_same(&imported_jobs(&imported), &found, &script);

        let listing = listing();
        let again = import::cangw(listing.as_bytes(), None).unwrap_or_else(|findings| panic!("{listing}{findings:#?}"));
        assert_eq!(again.reading, Reading::Listing, "{listing}");
        assert_same(&imported_jobs(&again), &found, &listing);

        let written = text::script(&text::of_jobs(&imported.interfaces, &imported.jobs));
        flush();
        run_script(&written);
        assert_same(&listed(), &found, &written);
        compared += found.len();
        most = most.max(found.len());
    }
    println!("{compared} jobs compared, up to {most} at once; {refused} scripts refused");
    assert!(compared > 100 && most > 5 && refused < SCRIPTS / 3, "{compared}, {most}, {refused}");
}

#[test]
#[ignore = "runs in a guest"]
fn refused_commands_install_no_job() {
    let Some(_scene) = scene() else { return };
    for arguments in include_str!("cangw_refused.txt").lines() {
        let words: Vec<_> = arguments.split(' ').collect();
        let output = run(&words);
        assert_eq!(listed(), [], "{arguments}: {output:?}");
        let imported = import::cangw(format!("cangw {arguments}").as_bytes(), None);
        assert!(imported.is_err(), "{arguments}: {imported:#?}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_gateway_survives_export_and_import() {
    let Some(scene) = scene() else { return };
    let _buses = ["in", "two-more"].map(Bus::new);
    let gateway = forwarding::GATEWAY.replace("\"t-two\"", "\"t-two-more\"");
    let plan = config::load(gateway.as_bytes()).unwrap().plan;

    let candor = |arguments: &[&str], input: &str| candor(&scene, arguments, input);
    run_script(&candor(&["show", "--as", "cangw", "-"], &gateway));
    let wanted = kernel_jobs(&candor_config::lower(&plan), |bus| plan.bus(bus).interface.clone());
    assert_same(&listed(), &wanted, "installed by cangw");

    let back = candor(&["import", "cangw"], &listing());
    let plan = config::load(back.as_bytes()).unwrap().plan;
    let again = kernel_jobs(&candor_config::lower(&plan), |bus| plan.bus(bus).interface.clone());
    assert_same(&again, &wanted, &back);
}

fn candor(scene: &Scenario, arguments: &[&str], input: &str) -> String {
    let output = output_of(&mut scene.command(arguments), input);
    assert_eq!(output.status, 0, "{arguments:?}: {output:?}");
    output.out
}
