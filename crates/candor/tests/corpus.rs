//! The corpora of the fuzz targets, and all files of the other tests, replayed without a fuzzer.

use std::fs;

use candor_config::config::promises;
use candor_config::import;
use candor_egress::netlink;
use candor_netlink::cangw;

#[test]
fn the_corpus_keeps_the_promises() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut replayed = 0;
    for folder in ["fuzz/corpus/config_parse", "examples", "crates/candor/tests/findings"] {
        for entry in fs::read_dir(format!("{root}/{folder}")).unwrap() {
            promises::hold(&fs::read(entry.unwrap().path()).unwrap());
            replayed += 1;
        }
    }
    assert!(replayed > 30, "only {replayed} files");
}

#[test]
fn the_jobs_of_the_corpus_keep_the_promises() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/cangw_decode");
    let mut replayed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        cangw::invariants::check(&fs::read(entry.unwrap().path()).unwrap());
        replayed += 1;
    }
    assert!(replayed > 10, "only {replayed} files");
}

#[test]
fn the_queues_of_the_corpus_keep_the_promises() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/netlink_tc");
    let mut replayed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        netlink::invariants::check(&fs::read(entry.unwrap().path()).unwrap());
        replayed += 1;
    }
    assert!(replayed > 30, "only {replayed} files");
}

#[test]
fn the_scripts_of_the_corpus_keep_the_promises() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut replayed = 0;
    for folder in ["fuzz/corpus/cangw_import", "crates/candor/tests/import"] {
        for entry in fs::read_dir(format!("{root}/{folder}")).unwrap() {
            import::promises::hold(&fs::read(entry.unwrap().path()).unwrap());
            replayed += 1;
        }
    }
    assert!(replayed > 10, "only {replayed} files");
}
