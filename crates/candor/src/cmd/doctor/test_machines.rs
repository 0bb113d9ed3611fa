//! Machines and gateway files for tests.

use std::fs;
use std::path::Path;

use candor_config::config;
use candor_io::machine::Machine;

use super::needs::Needs;

/// A machine with these files; content that begins with `->` makes a symbolic link.
pub(super) fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
    let root = tempfile::tempdir().unwrap();
    let machine = Machine::at(root.path());
    for (path, text) in files {
        let path = machine.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match text.strip_prefix("->") {
            Some(target) => std::os::unix::fs::symlink(Path::new(target), path).unwrap(),
            None => fs::write(path, text).unwrap(),
        }
    }
    (root, machine)
}

/// The needs of a file with one route, this engine and these keys in `[realtime]`.
pub(super) fn needs(engine: &str, realtime: &str) -> Needs {
    needs_of(engine, realtime, "")
}

/// As [`needs`], with further keys of the route.
pub(super) fn needs_of(engine: &str, realtime: &str, route: &str) -> Needs {
    let text = format!(
        "engine = \"{engine}\"\n[realtime]\n{realtime}\n[bus.a]\ninterface = \"can0\"\nbitrate = \"500kbit/s\"\n\
         [bus.b]\ninterface = \"can1\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n{route}"
    );
    Needs::of(&config::load(text.as_bytes()).unwrap().plan)
}
