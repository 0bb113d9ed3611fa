//! How long large gateway files take to load: `cargo run --release -p candor-core --example load`.
//!
//! Prints one line for each kind of file with the best of some runs, so that neither the first touch of memory nor
//! another process counts. A word after `--` is for the kinds that have it in their name, a number behind it for so many
//! runs: `valgrind --tool=callgrind --toggle-collect=candor_config::config::load_for target/release/examples/load mask 1`
//! counts instructions, which no other process changes.

#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use candor_config::config;

const ROUTES: u32 = 16_384;
const RUNS: u32 = 9;

fn main() {
    #[expect(clippy::disallowed_methods, reason = "this program is told what to measure")]
    let mut arguments = std::env::args().skip(1);
    let word = arguments.next().unwrap_or_default();
    let runs = arguments.next().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let identifier = |index: u32| index.wrapping_mul(0x9E37_79B1) & 0x1FFF_FFFF | 1;
    let masks = ["DFFFFFFF", "DFFFFF00", "DFFF00FF", "DF00FFFF", "C00007FF", "DFFFF0FF", "DFF0FFFF", "DFFFFFF0"];
    let inverted = |index: u32| format!("{:08X}~{}", 0x1FFF_F000 | (index % 8), masks[index as usize % masks.len()]);
    let files = [
        ("16 384 routes, one identifier each", routes(|index| format!("match = \"{:08X}\"\n", identifier(index)))),
        (
            "16 384 routes, one mask each",
            routes(|index| format!("match = \"{:08X}:{}\"\n", identifier(index), masks[index as usize % masks.len()])),
        ),
        ("16 384 routes, one of 8 inverted filters each", routes(|index| format!("match = \"{}\"\n", inverted(index)))),
        (
            "16 384 routes, an inverted filter of its own each",
            routes(|index| format!("match = \"{:08X}~DFFFFFFF\"\n", identifier(index))),
        ),
        (
            "16 384 routes, mixed: exact of 11 and of 29 bits, masked, inverted",
            routes(|index| match index % 4 {
                0 => format!("match = \"{:03X}\"\n", index / 4 % 2048),
                1 => format!("match = \"{:08X}\"\n", identifier(index)),
                2 => format!("match = \"{:08X}:{}\"\n", identifier(index), masks[index as usize % masks.len()]),
                _ => format!("match = \"{}\"\n", inverted(index)),
            }),
        ),
        (
            "16 384 routes, all keys of a change",
            routes(|index| {
                format!(
                    "match = \"{:08X}\"\nframes = \"classic\"\nset = {{ id = \"123\", data = \"1122334455667788\" }}\n\
                     checksum-crc8 = {{ from = 0, to = 6, result = 7, preset = \"sae-j1850\" }}\necho = true\nhop-limit = 1\n",
                    identifier(index)
                )
            }),
        ),
        ("one list of 16 384 identifiers of 29 bits", list(|index| format!("\"{:08X}\"", identifier(index)))),
        ("one list of 16 384 masks", list(|index| format!("\"{:08X}:DFFFF0FF\"", identifier(index)))),
        (
            "a bus that denies 16 384 identifiers, 16 384 routes",
            format!(
                "{}{}",
                denying(identifier),
                &routes(|index| format!("match = \"{:08X}\"\n", identifier(index) ^ 1))[BUSES.len()..]
            ),
        ),
    ];
    for (name, text) in files.into_iter().filter(|(name, _)| name.contains(&word)) {
        let mut best = Duration::MAX;
        let mut loaded = None;
        for _run in 0..runs {
            #[expect(clippy::disallowed_methods, reason = "this program measures")]
            let start = Instant::now();
            let result = config::load(text.as_bytes());
            best = best.min(start.elapsed());
            loaded = Some(result);
        }
        let outcome = match loaded {
            Some(Ok(loaded)) => {
                let selections: usize = loaded.plan.routes().iter().map(|route| route.selections.len()).sum();
                format!("{selections} filters, {} warnings", loaded.warnings.len())
            }
            Some(Err(findings)) => format!("{:?}", findings.first()),
            None => String::new(),
        };
        #[expect(clippy::print_stdout, reason = "this program shows what it has measured")]
        {
            println!("{:>8.1} ms  {:>5} KiB  {name}: {outcome}", best.as_secs_f64() * 1e3, text.len() / 1024);
        }
    }
}

const BUSES: &str = "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n";

fn routes(lines: impl Fn(u32) -> String) -> String {
    let mut text = BUSES.to_owned();
    for index in 0..ROUTES {
        let _infallible =
            write!(text, "[[route]]\nname = \"route-{index}\"\nfrom = \"a\"\nto = \"b\"\n{}", lines(index));
    }
    text
}

fn list(entry: impl Fn(u32) -> String) -> String {
    let mut text = format!("{BUSES}[[route]]\nname = \"list\"\nfrom = \"a\"\nto = \"b\"\nmatch = [\n");
    for index in 0..ROUTES {
        let _infallible = writeln!(text, "    {},", entry(index));
    }
    text + "]\n"
}

fn denying(identifier: impl Fn(u32) -> u32) -> String {
    let mut text = "[bus.a]\ninterface = \"can0\"\ndeny = [\n".to_owned();
    for index in 0..ROUTES {
        let _infallible = writeln!(text, "    \"{:08X}\",", identifier(index));
    }
    text + "]\n[bus.b]\ninterface = \"can1\"\n"
}
