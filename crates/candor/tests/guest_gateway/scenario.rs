//! Virtual buses, directories, and gateways between the buses; pairs of connected interfaces.

use std::sync::MutexGuard;

use tempfile::TempDir;

use crate::prelude::*;

pub(crate) const LEFT_RIGHT: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n";

/// Bus tables. An interface is named after its bus: `t-left` is that of `left`.
pub(crate) fn buses(names: &[&str]) -> String {
    names.iter().map(|name| format!("[bus.{name}]\ninterface = \"t-{name}\"\n")).collect()
}

/// A route table with further keys, one a line.
pub(crate) fn route(name: &str, from: &str, to: &str, keys: &str) -> String {
    format!("[[route]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{keys}\n")
}

/// Virtual buses, a run directory and a directory for files. The tests share a kernel, so only one scenario exists at a time.
#[derive(Debug)]
pub(crate) struct Scenario {
    buses: Vec<Bus>,
    pub(crate) run_dir: TempDir,
    pub(crate) files: TempDir,
    _machine: MutexGuard<'static, ()>,
}

impl Scenario {
    /// `None`, after printing the reason, if a feature is missing.
    pub(crate) fn new<const N: usize>(features: &[Feature], buses: [&str; N]) -> Option<Self> {
        let machine = require(features)?;
        let folder = || tempfile::tempdir().unwrap();
        Some(Self { buses: buses.map(Bus::new).into(), run_dir: folder(), files: folder(), _machine: machine })
    }

    #[track_caller]
    pub(crate) fn bus(&self, name: &str) -> &Bus {
        self.buses.iter().find(|bus| bus.name == name).unwrap()
    }

    #[track_caller]
    pub(crate) fn index(&self, name: &str) -> InterfaceIndex {
        self.bus(name).index
    }

    #[track_caller]
    pub(crate) fn sender(&self, name: &str) -> CanSocket {
        sender_on(self.index(name))
    }

    #[track_caller]
    pub(crate) fn listener(&self, name: &str) -> CanSocket {
        listener_on(self.index(name))
    }

    pub(crate) fn unplug(&self, name: &str) {
        link::delete(&mut Client::open().unwrap(), self.index(name)).unwrap();
    }

    /// Creates an interface in place of one that was unplugged.
    pub(crate) fn plug_in(&mut self, name: &str) {
        *self.buses.iter_mut().find(|bus| bus.name == name).unwrap() = Bus::new(name);
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.files.path().join(name);
        crate::candor::write(&path, text);
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn run<'a>(&self, gateway: &'a str, engine: &'a str) -> Run<'a> {
        Run { gateway, engine, run_dir: self.run_dir.path().to_owned(), uid: None }
    }

    pub(crate) fn start(&self, gateway: &str, engine: &str) -> Candor {
        self.run(gateway, engine).start()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).env("CANDOR_RUN_DIR", self.run_dir.path()).env_remove("XDG_RUNTIME_DIR");
        command
    }

    pub(crate) fn candor(&self, arguments: &[&str]) -> Output {
        output(&mut self.command(arguments))
    }

    /// The JSON of a command that succeeds.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.candor(&[arguments, &["--json"]].concat());
        assert_eq!(output.status, 0, "{output:?}");
        output.json()
    }

    /// The can-gw jobs between the buses, newest first.
    pub(crate) fn jobs(&self) -> Vec<CangwJob> {
        jobs_between(&self.buses)
    }

    pub(crate) fn lists(&self) -> usize {
        let files = self.run_dir.path().read_dir().unwrap();
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "json")).count()
    }

    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        assert_eq!((self.jobs(), self.lists()), (Vec::new(), 0));
    }
}

/// A vxcan pair, deleted with this value.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) near: InterfaceIndex,
    pub(crate) far: InterfaceIndex,
}

impl Pair {
    pub(crate) fn new(names: [&str; 2]) -> Self {
        let mut client = Client::open().unwrap();
        link::create_vxcan(&mut client, names).unwrap();
        let [near, far] = names.map(|name| link::by_name(&mut client, name).unwrap().unwrap().index);
        let pair = Self { near, far };
        for end in [near, far] {
            link::set_up(&mut client, end).unwrap();
        }
        pair.wait();
        pair
    }

    /// The kernel takes a moment to see that both ends are up, and drops frames until then.
    pub(crate) fn wait(&self) {
        let [sends, hears] = [self.near, self.far].map(listener_on);
        let deadline = Instant::now() + PATIENCE;
        while can::poll(&[&hears], Some(Duration::from_millis(20))).unwrap().is_empty() {
            assert!(Instant::now() < deadline, "nothing crosses the pair");
            send(&sends, &classic(0x123, &[1, 2, 3]));
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = Client::open().and_then(|mut client| link::delete(&mut client, self.near));
    }
}
