//! Replays the corpora of the fuzz targets, and the files of other tests, without a fuzzer.

use std::fs;

use candor_config::{config, import};
use candor_egress::netlink;
use candor_netlink::cangw;

#[test]
fn corpora_keep_the_promises_of_the_parsers() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let checks: [(&[&str], fn(&[u8]), usize); 4] = [
        (&["fuzz/corpus/config_parse", "examples", "crates/candor/tests/findings"], config::promises::hold, 30),
        (&["fuzz/corpus/cangw_decode"], cangw::invariants::check, 10),
        (&["fuzz/corpus/netlink_tc"], netlink::promises::hold, 30),
        (&["fuzz/corpus/cangw_import", "crates/candor/tests/import"], import::promises::hold, 10),
    ];
    for (folders, check, least) in checks {
        let files = folders.iter().flat_map(|folder| fs::read_dir(format!("{root}/{folder}")).unwrap());
        let files: Vec<_> = files.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
        files.iter().for_each(|bytes| check(bytes));
        assert!(files.len() > least, "{folders:?}: only {} files", files.len());
    }
}
