use super::*;
use crate::limits::{BusNames, Directions, Errors};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recordings.md");
const BEGIN: &str = "| format | `--from`, `--to` |";

/// The table of docs/recordings.md.
fn table() -> String {
    let row = |format: Format| {
        let limits = format.limits();
        let endings: Vec<_> = format.endings().iter().map(|ending| format!("`.{ending}`")).collect();
        let errors = match limits.errors {
            Errors::Whole => "✓",
            Errors::Mark => "no class, no bytes",
            Errors::No => "–",
        };
        let directions = match limits.directions {
            Directions::Optional => "✓",
            Directions::Always => "unknown is Rx",
        };
        let buses = match limits.buses {
            BusNames::Names => "names".to_owned(),
            BusNames::Numbers(first) => format!("numbers, `can0` is {first}"),
        };
        let step = match limits.step_ns {
            1 => "1 ns",
            _ => "1 µs",
        };
        format!(
            "| {} | `{}` | {} | {errors} | {directions} | {buses} | {step} |\n",
            format.title(),
            format.name(),
            endings.join(" "),
        )
    };
    let head = "| endings | error frames | direction | buses | times |\n";
    format!("{BEGIN} {}|---|---|---|---|---|---|---|\n", &head[2..]) + &Format::all().map(row).collect::<String>()
}

/// `CANDOR_BLESS=1` writes it.
#[test]
fn the_page_has_the_table_of_what_formats_hold() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let at = page.find(BEGIN).unwrap();
    let end = page[at..].find("\n\n").map_or(page.len(), |len| at + len + 1);
    if std::env::var_os("CANDOR_BLESS").is_some() {
        std::fs::write(PAGE, format!("{}{}{}", &page[..at], table(), &page[end..])).unwrap();
        return;
    }
    assert_eq!(&page[at..end], table());
}

#[test]
fn endings_and_names_are_of_one_format() {
    let mut endings: Vec<_> = Format::all().flat_map(|format| format.endings()).collect();
    endings.sort();
    let count = endings.len();
    endings.dedup();
    assert_eq!(endings.len(), count);
    assert_eq!(Format::of_ending("PCAPNG"), Some(Format::Pcapng));
    assert_eq!(Format::of_ending("txt"), None);
}
