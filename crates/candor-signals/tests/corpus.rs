//! Replays the corpus of the fuzz target `signals_dbc`, with files cut short and with words exchanged.

use candor_core::random::SplitMix64;

#[test]
fn the_corpus_keeps_the_invariants() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/signals_dbc");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        (0..bytes.len())
            .step_by(7)
            .chain([bytes.len()])
            .for_each(|end| candor_signals::invariants::check(&bytes[..end]));
        count += 1;
    }
    assert!(count >= 3, "{folder} has {count} files");
}

#[test]
fn changed_files_keep_the_invariants() {
    let mut random = SplitMix64::new(27);
    let whole = include_bytes!("../../../fuzz/corpus/signals_dbc/switches");
    let parts: Vec<&[u8]> = whole.split_inclusive(|byte| b" \n|@:".contains(byte)).collect();
    for _ in 0..20_000 {
        let mut words = parts.clone();
        for _ in 0..1 + random.below(6) {
            let (at, from) = (random.below(words.len()), random.below(words.len()));
            match random.below(3) {
                0 => words[at] = parts[from],
                1 => words.swap(at, from),
                _ => drop(words.remove(at)),
            }
        }
        candor_signals::invariants::check(&words.concat());
    }
}
