use candor_learn::learn;
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let id = text.lines().find_map(|l| l.strip_prefix("# identifier ")).and_then(|t| u32::from_str_radix(t, 16).ok());
        let payloads: Vec<Vec<u8>> = text.lines().filter(|l| !l.starts_with('#')).map(|l| (0..l.len()/2).map(|i| u8::from_str_radix(&l[2*i..2*i+2],16).unwrap()).collect()).collect();
        let t = std::time::Instant::now();
        let learned = learn(payloads.iter().map(|p| &p[..]), id);
        println!("== {path} {:?} {:?}", learned.outcome, t.elapsed());
        for c in &learned.counters { println!("  counter {:?} step {} {}/{} wraps {}", (c.counter.place, c.counter.min, c.counter.max), c.step, c.steps, c.of, c.wraps); }
        for h in &learned.schemes {
            println!("  {}/{} {:.0} bits {:?} {:?} over {:?} zeroed {} id {:?} settings {:?}\n     {:?} +{}", h.explained, h.of, h.evidence, h.scheme.checksum, h.scheme.place, h.scheme.over, h.scheme.zeroed, h.scheme.data_id, h.settings.as_ref().map(|s| (s.profile, s.mode, s.offset, s.data_ids.clone())), h.ambiguities, h.alternatives.len());
        }
    }
}
