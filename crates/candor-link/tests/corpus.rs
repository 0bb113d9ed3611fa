//! Replays the corpora of the fuzz targets `link_candor`, `link_cannelloni` and `link_socketcand`, with files cut short and
//! with changed bytes.
#![expect(clippy::unwrap_used, reason = "a test")]

use candor_core::random::SplitMix64;
use candor_link::invariants;

fn replay(corpus: &str, check: fn(&[u8])) {
    let folder = format!("{}/../../fuzz/corpus/{corpus}", env!("CARGO_MANIFEST_DIR"));
    let mut random = SplitMix64::new(30);
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        (0..=bytes.len()).step_by(5).chain([bytes.len()]).for_each(|end| check(&bytes[..end]));
        for _ in 0..200 {
            let mut changed = bytes.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(changed.len());
                changed[at] = u8::try_from(random.below(256)).unwrap();
            }
            check(&changed);
        }
        count += 1;
    }
    assert!(count >= 8, "{folder} has {count} files");
}

#[test]
fn the_corpus_of_candor_is_survived() {
    replay("link_candor", invariants::check_candor);
}

#[test]
fn the_corpus_of_cannelloni_is_survived() {
    replay("link_cannelloni", invariants::check_cannelloni);
}

#[test]
fn the_corpus_of_socketcand_is_survived() {
    replay("link_socketcand", invariants::check_socketcand);
}
