//! Runs `scenarios.txt`, which describes its format, and scenarios with many values.

use crate::bit_model::{Bus, Config, Counters, Disturbance, Episode, Log, OnBusOff, Order, RecCredit, What, episodes};

#[test]
fn scenarios_worked_out_by_hand() {
    let failed: Vec<String> = include_str!("scenarios.txt").split("\n[").skip(1).flat_map(mismatches).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// No acknowledgement at bit 36 of 123#. Active flag 37..=42, delimiter 43..=50, intermission 51..=53: again at 54.
/// The 16th error raises 120 to 128, with an active flag still, and from then on eight bits are suspended: again
/// after 62. A passive sender without acknowledgement that sees no dominant bit in its flag is not punished.
#[test]
fn lone_sender_becomes_passive_and_never_bus_off() {
    let active = (0..16).map(|attempt| 54 * attempt);
    let passive = (0..148).map(|attempt| 54 * 15 + 62 + 62 * attempt);
    let starts: Vec<String> = active.chain(passive).map(|at| format!("0@{at}")).collect();
    let counts: Vec<String> = (1..=16).map(|n| format!("{}: {}/0", 54 * (n - 1) + 37, 8 * n)).collect();
    let errors = ["0@36 Ack"; 164].join(", ");
    check(&format!(
        "nodes 1\n0 submit 0 123#\nrun {}\nstarts {}\ncounts 0 {}\nerrors {errors}",
        54 * 15 + 62 + 62 * 148,
        starts.join(", "),
        counts.join(", "),
    ));
}

/// Bit 20 of 123#55 (0) is always seen 1. Up to the 16th error: attempts 44 bits apart; the 16th makes the sender
/// passive, so eight bits more. From then on its flag is recessive: bits 19, 20 and on are ones for the receivers, the
/// sixth at 24, flags in 25..=30, and these are the six equal bits that end the passive flag. Delimiter 31..=38,
/// intermission 39..=41, suspended 42..=49: attempts 50 bits apart.
///
/// The receiver answers the silence of the last attempt too. The sender keeps its frame.
#[test]
fn bus_off_after_32_errors_and_recovery_after_1408_bits() {
    let flips: String = (0..32).map(|attempt| format!("flip {attempt} 20\n")).collect();
    let active = (0..16).map(|attempt| 44 * attempt);
    let passive = (0..16).map(|attempt| 44 * 15 + 52 + 50 * attempt);
    let starts: Vec<String> = active.chain(passive).map(|at| format!("0@{at}")).collect();
    let off = 44 * 15 + 52 + 50 * 15 + 21;
    check(&format!(
        "nodes 2\n0 submit 0 123#55\n{flips}2000 restart 0\nrun 2000\nstarts {}\nbus-off 0@{off}\n\
         counts 0 …, {off}: 256/0\ncounts 1 …, {}: 0/32\nrun 5000\nrecovered 0@3408\ncounts 0 3408: 0/0\n\
         starts 0@3408\nsent 0 #0 3408-3461 > 1",
        starts.join(", "),
        off + 4,
    ));
}

/// Every bit of the end but the last: no node has accepted the first attempt.
#[test]
fn bits_of_the_end_are_of_fixed_form() {
    for bit in 38..=43 {
        let again = bit + 1 + 6 + 8 + 3;
        let accepted = again + 44;
        check(&format!(
            "nodes 3\n0 submit 0 123#\nflip 0 {bit}\nrun 400\nerrors 0@{bit} Form, 1@{bit} Form, 2@{bit} Form\n\
             starts 0@0, 0@{again}\naccepted 1@{accepted} 123#, 2@{accepted} 123#"
        ));
    }
}

fn check(scenario: &str) {
    let failed = mismatches(&format!("scenario]\n{scenario}"));
    assert!(failed.is_empty(), "{scenario}\n{}", failed.join("\n"));
}

/// Runs a scenario, whose first line is its name.
fn mismatches(text: &str) -> Vec<String> {
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let name = lines.next().expect("a scenario has a name").trim_end_matches(']');
    let mut configs: Vec<Config> = Vec::new();
    let mut bus = Bus::new([]);
    let (mut log, mut tag, mut failed) = (Vec::new(), 0, Vec::new());
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |place: usize| words[place].parse().unwrap_or_else(|_| panic!("{name}: {line}"));
        let index = |place: usize| usize::try_from(number(place)).expect("small");
        match words[..] {
            ["nodes", _] => configs.resize(index(1), Config::default()),
            ["node", ref settings @ ..] => configs.push(config(settings)),
            _ => {}
        }
        match words[..] {
            ["nodes" | "node", ..] => bus = Bus::new(configs.clone()),
            [_, "submit", _, frame] => {
                bus.submit(number(0), index(2), tag, frame.parse().expect("a frame"));
                tag += 1;
            }
            [_, "off", _] => bus.switch_off(number(0), index(2)),
            [_, "on", _] => bus.switch_on(number(0), index(2)),
            [_, "restart", _] => bus.restart(number(0), index(2)),
            ["flip", ..] => bus.disturb(Disturbance::Flip { frame: index(1), bit: number(2) }),
            ["misread", ..] => {
                bus.disturb(Disturbance::Misread { frame: index(1), bit: number(2), node: index(3) });
            }
            ["no-ack", _] => bus.disturb(Disturbance::NoAck { frame: index(1) }),
            ["stuck", ..] => bus.disturb(Disturbance::Stuck { from: number(1), to: number(2) }),
            ["run", _] => log = bus.run_until(number(1)),
            ["counters", _, expected] => {
                let Counters { tec, rec } = bus.counters(index(1));
                let found = format!("{tec}/{rec}");
                failed.extend((found != expected).then(|| format!("{name}: {line}, found {found}")));
            }
            [kind, ref rest @ ..] => {
                let (kind, expected) = match (kind, rest) {
                    ("counts", [node, expected @ ..]) => (format!("{kind} {node}"), expected),
                    _ => (kind.to_owned(), rest),
                };
                let found = entries(&log, &kind);
                if !agrees(&expected.join(" "), &found) {
                    failed.push(format!("{name}: {line}\n    found {}", found.join(", ")));
                }
            }
            [] => {}
        }
    }
    failed
}

fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    for setting in settings {
        let (name, value) = setting.split_once('=').unwrap_or((setting, "0"));
        let value: u32 = value.parse().expect("a number");
        match name {
            "tec" => config.counters.tec = value,
            "rec" => config.counters.rec = value,
            "depth" => config.depth = usize::try_from(value).expect("small"),
            "mailboxes" => config.order = Order::LowestFirst,
            "one-shot" => config.one_shot = true,
            "listen-only" => config.listen_only = true,
            "absent" => config.present = false,
            "drop" => config.on_bus_off = OnBusOff::Drop,
            "credit-at-acceptance" => config.rec_credit = RecCredit::Acceptance,
            other => panic!("{other} is not a setting"),
        }
    }
    config
}

/// All entries of a kind, as `scenarios.txt` writes them.
fn entries(log: &[Log], kind: &str) -> Vec<String> {
    if kind == "episodes" {
        let first = |(node, kind): &(usize, _)| format!(" {node} {kind:?}");
        let text = |episode: &Episode| {
            let first: String = episode.first.iter().map(first).collect();
            format!("{}-{}{first}", episode.start, episode.end.unwrap_or_default())
        };
        return episodes(log).iter().map(text).collect();
    }
    log.iter().map(shown).filter(|(of, _)| of == kind).map(|(_, text)| text).collect()
}

fn shown(Log { at, node, what }: &Log) -> (String, String) {
    let (kind, text) = match what {
        What::Accepted { content, .. } => ("accepted", format!("{node}@{at} {content}")),
        What::ArbitrationLost { bit, .. } => ("lost", format!("{node}@{at} bit {bit}")),
        What::BusOff => ("bus-off", format!("{node}@{at}")),
        What::Counters { counters: Counters { tec, rec }, .. } => {
            return (format!("counts {node}"), format!("{at}: {tec}/{rec}"));
        }
        What::Delivered { tag, start, receivers, .. } => {
            let receivers: Vec<String> = receivers.iter().map(usize::to_string).collect();
            ("sent", format!("{node} #{tag} {start}-{at} > {}", receivers.join("+")))
        }
        What::Dropped { tag } => ("dropped", format!("{node}@{at} #{tag}")),
        What::ErrorDetected { bit, kind, .. } => ("errors", format!("{node}@{bit} {kind:?}")),
        What::FlagOver { .. } => ("flags", format!("{node}@{at}")),
        What::Joined => ("joined", format!("{node}@{at}")),
        What::Overload => ("overload", format!("{node}@{at}")),
        What::Recovered => ("recovered", format!("{node}@{at}")),
        What::Refused { tag } => ("refused", format!("{node}@{at} #{tag}")),
        What::Started { .. } => ("starts", format!("{node}@{at}")),
        What::SwitchedOff => ("off", format!("{node}@{at}")),
        What::SwitchedOn => ("on", format!("{node}@{at}")),
    };
    (kind.to_owned(), text)
}

/// Compares entries with a list in which `…` at either end stands for others.
fn agrees(expected: &str, found: &[String]) -> bool {
    let mut list: Vec<&str> = expected.split(", ").filter(|entry| !entry.is_empty()).collect();
    let is_open_before = list.first() == Some(&"…");
    let is_open_after = list.last() == Some(&"…");
    list.retain(|entry| *entry != "…");
    match (is_open_before, is_open_after) {
        (false, false) => found == list,
        (false, true) => found.len() >= list.len() && found[..list.len()] == list,
        (true, _) => found.len() >= list.len() && found[found.len() - list.len()..] == list,
    }
}
