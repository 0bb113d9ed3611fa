//! Replays the corpus of the fuzz target `bridge_payload`, with files cut short and with changed bytes.
#![forbid(unsafe_code)]

use candor_bridge::payload;
use candor_core::random::SplitMix64;

#[test]
fn the_corpus_is_survived() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/bridge_payload");
    let mut random = SplitMix64::new(30);
    let (mut files, mut frames) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        (0..=bytes.len()).for_each(|end| payload::check(&bytes[..end]));
        for _ in 0..200 {
            let mut changed = bytes.clone();
            let at = random.below(changed.len());
            changed[at] = u8::try_from(random.below(256)).unwrap();
            payload::check(&changed);
        }
        files += 1;
        frames += usize::from(payload::decode(&bytes).is_ok());
    }
    assert_eq!((files, frames), (10, 8), "{folder}");
}
