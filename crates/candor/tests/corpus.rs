//! Replays the corpora of the fuzz targets, and the files of other tests, without a fuzzer.

use std::{fs, io};

use candor_config::{config, import, signature};
use candor_egress::netlink;
use candor_netlink::cangw;

/// Checks every file in these directories, which must be more than this many.
fn replay(folders: &[&str], check: fn(&[u8]), least: usize) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let entries = folders.iter().flat_map(|folder| fs::read_dir(format!("{root}/{folder}")).expect(folder));
    let paths = entries.map(|entry: io::Result<fs::DirEntry>| entry.expect("folders can be read").path());
    let files: Vec<_> =
        paths.filter(|path| path.is_file()).map(|path| fs::read(path).expect("it can be read")).collect();
    files.iter().for_each(|bytes| check(bytes));
    assert!(files.len() > least, "{folders:?}: only {} files", files.len());
}

#[test]
fn parsers_keep_their_invariants_on_every_corpus() {
    let gateways = ["fuzz/corpus/config_parse", "examples", "examples/bounds", "crates/candor/tests/findings"];
    replay(&gateways, config::invariants::check, 30);
    replay(&["fuzz/corpus/cangw_decode"], cangw::invariants::check, 10);
    replay(&["fuzz/corpus/signature"], signature::invariants::check, 5);
    replay(&["fuzz/corpus/netlink_tc"], netlink::invariants::check, 30);
    replay(&["fuzz/corpus/cangw_import", "crates/candor/tests/import"], import::invariants::check, 10);
}
