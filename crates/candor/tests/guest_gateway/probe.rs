//! A CRC8 with positions from the end, as the running kernel computes it.

use candor_engine::relative_crc8_by_trial;

use crate::prelude::*;

/// The first releases with the fix, of those that guests boot.
const FIXED: [[u32; 3]; 2] = [[6, 1, 168], [6, 12, 80]];

#[test]
#[ignore = "runs in a guest"]
fn trial_agrees_with_the_kernel_version() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let interfaces = || link::list(&mut Client::open().unwrap()).unwrap();
    let before = interfaces();
    let inside = relative_crc8_by_trial().unwrap();
    assert_eq!(interfaces(), before, "the trial leaves no trace");
    let version = source_version();
    println!("kernel {version:?} computes a CRC8 with positions from the end inside the frame: {inside}");
    if let Some(fixed) = FIXED.iter().find(|fixed| fixed[..2] == version[..2]) {
        assert_eq!(inside, version >= *fixed, "{version:?}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn auto_chooses_the_engine_that_computes_it_right() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    let keys = "frames = \"classic\"\nor = { data = \"00\" }\n\
                checksum-crc8 = { from = 0, to = -2, result = -1, polynomial = \"1D\" }";
    let candor = scene.start(&(LEFT_RIGHT.to_owned() + &route("crc", "left", "right", keys)), "auto");
    let side = &candor.before_ready.iter().find(|event| event["route"] == "crc").unwrap()["side"];
    assert_eq!(side, if relative_crc8_by_trial().unwrap() { "kernel" } else { "user" });
    candor.stop();
}

/// The version of the source, which Debian has in the build text.
fn source_version() -> [u32; 3] {
    let word = |name| fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap();
    let (release, build) = (word("osrelease"), word("version"));
    let source = build.split_once("Debian ").map_or(release.as_str(), |(_, version)| version);
    let mut numbers = source.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}
