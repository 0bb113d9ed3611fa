//! What this kernel does with a CRC8 whose positions count from the end, found out by trying.

use candor_engine::relative_crc8_by_trial;
use candor_io::signal::Signal;
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::candor::Run;
use crate::require::{Bus, Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];

/// The first releases with the fix among those that laboratories boot.
const FIXED: [[u32; 3]; 2] = [[6, 1, 168], [6, 12, 80]];

#[test]
#[ignore = "runs in a guest"]
fn the_trial_agrees_with_what_is_known_of_the_version() {
    let Some(_machine) = require(NEEDS) else { return };
    let interfaces = || link::list(&mut Client::open().unwrap()).unwrap();
    let before = interfaces();
    let inside = relative_crc8_by_trial().unwrap();
    assert_eq!(interfaces(), before, "the trial is to be seen by nobody");
    let version = source_version();
    println!("kernel {version:?} computes a CRC8 with positions from the end inside the frame: {inside}");
    if let Some(fixed) = FIXED.iter().find(|fixed| fixed[..2] == version[..2]) {
        assert_eq!(inside, version >= *fixed, "{version:?}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn auto_puts_such_a_route_where_it_is_computed_right() {
    let Some(_machine) = require(NEEDS) else { return };
    let (_left, _right) = (Bus::new("left"), Bus::new("right"));
    let run_dir = tempfile::tempdir().unwrap();
    let gateway = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                   [[route]]\nname = \"crc\"\nfrom = \"left\"\nto = \"right\"\nframes = \"classic\"\n\
                   or = { data = \"00\" }\n\
                   checksum-crc8 = { from = 0, to = -2, result = -1, polynomial = \"1D\" }\n";
    let candor = Run { gateway, engine: "auto", run_dir: run_dir.path().to_owned(), uid: None }.start();
    let side = &candor.before_ready.iter().find(|event| event["route"] == "crc").unwrap()["side"];
    assert_eq!(side, if relative_crc8_by_trial().unwrap() { "kernel" } else { "user" });
    assert!(candor.end(Signal::Terminate).status.success());
}

/// The version of the kernel's source; Debian's stands in the build text.
fn source_version() -> [u32; 3] {
    let word = |name| std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap();
    let (release, build) = (word("osrelease"), word("version"));
    let source = build.split_once("Debian ").map_or(release.as_str(), |(_, version)| version);
    let mut numbers = source.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}
