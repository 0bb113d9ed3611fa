//! Replays the corpora of the fuzz targets `signals_dbc` and `signals_kcd`, with files cut short and with words exchanged.
#![expect(clippy::unwrap_used, reason = "a test")]

use candor_core::random::SplitMix64;
use candor_signals::invariants;

/// Checks the files of a corpus, cut short in many places.
fn cut_short(corpus: &str, check: fn(&[u8])) {
    let folder = format!("{}/../../fuzz/corpus/{corpus}", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        (0..bytes.len()).step_by(7).chain([bytes.len()]).for_each(|end| check(&bytes[..end]));
        count += 1;
    }
    assert!(count >= 3, "{folder} has {count} files");
}

/// Checks a file with some parts exchanged, doubled or left out. The parts end with one of `ends`.
fn exchanged(whole: &[u8], ends: &[u8], check: impl Fn(&[u8])) {
    let mut random = SplitMix64::new(27);
    let parts: Vec<&[u8]> = whole.split_inclusive(|byte| ends.contains(byte)).collect();
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
        check(&words.concat());
    }
}

#[test]
fn the_corpora_keep_the_invariants() {
    cut_short("signals_dbc", invariants::check);
    cut_short("signals_kcd", invariants::check_kcd);
}

#[test]
fn changed_files_keep_the_invariants() {
    exchanged(include_bytes!("../../../fuzz/corpus/signals_dbc/switches"), b" \n|@:", invariants::check);
    let switches = include_bytes!("../../../fuzz/corpus/signals_kcd/switches");
    exchanged(switches, b" \n<>=\"", invariants::check_kcd);
}

#[test]
fn changed_attributes_of_kcd_files_keep_the_invariants() {
    // Values change, and the file stays well-formed.
    let whole = include_str!("../../../fuzz/corpus/signals_kcd/switches");
    let values: Vec<&str> =
        whole.split('"').skip(1).step_by(2).chain(["65535", "-1", "x", "auto", "big", "64"]).collect();
    let mut random = SplitMix64::new(28);
    let mut used = 0;
    for _ in 0..20_000 {
        let mut parts: Vec<&str> = whole.split('"').collect();
        for _ in 0..1 + random.below(8) {
            // The namespace stays.
            let at = 3 + 2 * random.below(parts.len() / 2 - 1);
            parts[at] = values[random.below(values.len())];
        }
        let text = parts.join("\"");
        invariants::check_kcd(text.as_bytes());
        used += usize::from(!candor_signals::read(text.as_bytes()).messages.is_empty());
    }
    assert_eq!(used, 20_000);
}
