//! Time to load large gateway files: `cargo run --release -p candor-config --example load -- [NAME] [RUNS]`.
//!
//! Prints the best of some runs for each kind of file whose name contains NAME. To count instructions:
//! `valgrind --tool=callgrind --toggle-collect=candor_config::config::load_for target/release/examples/load mask 1`.

#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use candor_config::config;

const ROUTES: u32 = 16_384;
const RUNS: u32 = 9;
const BUSES: &str = "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n";
const MASKS: [&str; 8] =
    ["DFFFFFFF", "DFFFFF00", "DFFF00FF", "DF00FFFF", "C00007FF", "DFFFF0FF", "DFF0FFFF", "DFFFFFF0"];

fn main() {
    #[expect(clippy::disallowed_methods, reason = "the arguments select what to measure")]
    let mut arguments = std::env::args().skip(1);
    let word = arguments.next().unwrap_or_default();
    let runs = arguments.next().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let change = "frames = \"classic\"\nset = { id = \"123\", data = \"1122334455667788\" }\n\
                  checksum-crc8 = { from = 0, to = 6, result = 7, preset = \"sae-j1850\" }\necho = true\nhop-limit = 1\n";
    let files = [
        ("16 384 routes, one identifier each", routes(|index| matching(&exact(index)))),
        ("16 384 routes, one mask each", routes(|index| matching(&masked(index)))),
        ("16 384 routes, one of 8 inverted filters each", routes(|index| matching(&inverted(index)))),
        (
            "16 384 routes, an inverted filter of its own each",
            routes(|index| matching(&format!("{}~DFFFFFFF", exact(index)))),
        ),
        (
            "16 384 routes, mixed: exact of 11 and of 29 bits, masked, inverted",
            routes(|index| match index % 4 {
                0 => matching(&format!("{:03X}", index / 4 % 2048)),
                1 => matching(&exact(index)),
                2 => matching(&masked(index)),
                _ => matching(&inverted(index)),
            }),
        ),
        ("16 384 routes, all keys of a change", routes(|index| matching(&exact(index)) + change)),
        ("one list of 16 384 identifiers of 29 bits", one_route(&list("match", exact))),
        ("one list of 16 384 masks", one_route(&list("match", |index| format!("{}:DFFFF0FF", exact(index))))),
        (
            "a bus that denies 16 384 identifiers, 16 384 routes",
            routes(|index| matching(&format!("{:08X}", identifier(index) ^ 1))).replacen(
                "\"can0\"\n",
                &format!("\"can0\"\n{}", list("deny", exact)),
                1,
            ),
        ),
    ];
    for (name, text) in files.into_iter().filter(|(name, _)| name.contains(&word)) {
        let mut best = Duration::MAX;
        let mut outcome = String::new();
        for _run in 0..runs {
            #[expect(clippy::disallowed_methods, reason = "this program measures time")]
            let start = Instant::now();
            let loaded = config::load(text.as_bytes());
            best = best.min(start.elapsed());
            outcome = match loaded {
                Ok(loaded) => {
                    let filters: usize = loaded.plan.routes().iter().map(|route| route.selections.len()).sum();
                    format!("{filters} filters, {} warnings", loaded.warnings.len())
                }
                Err(findings) => format!("{:?}", findings.first()),
            };
        }
        #[expect(clippy::print_stdout, reason = "this program prints its results")]
        {
            println!("{:>8.1} ms  {:>5} KiB  {name}: {outcome}", best.as_secs_f64() * 1e3, text.len() / 1024);
        }
    }
}

const fn identifier(index: u32) -> u32 {
    index.wrapping_mul(0x9E37_79B1) & 0x1FFF_FFFF | 1
}

fn exact(index: u32) -> String {
    format!("{:08X}", identifier(index))
}

fn masked(index: u32) -> String {
    format!("{}:{}", exact(index), MASKS[index as usize % MASKS.len()])
}

fn inverted(index: u32) -> String {
    format!("{:08X}~{}", 0x1FFF_F000 | (index % 8), MASKS[index as usize % MASKS.len()])
}

fn matching(filter: &str) -> String {
    format!("match = \"{filter}\"\n")
}

fn route(name: &str, lines: &str) -> String {
    format!("[[route]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n{lines}")
}

fn one_route(lines: &str) -> String {
    format!("{BUSES}{}", route("list", lines))
}

fn routes(lines: impl Fn(u32) -> String) -> String {
    BUSES.to_owned() + &(0..ROUTES).map(|index| route(&format!("route-{index}"), &lines(index))).collect::<String>()
}

fn list(key: &str, entry: impl Fn(u32) -> String) -> String {
    let entries: String = (0..ROUTES).map(|index| format!("    \"{}\",\n", entry(index))).collect();
    format!("{key} = [\n{entries}]\n")
}
