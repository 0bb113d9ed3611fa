//! A gateway file that meets each requirement, and one that violates it on purpose.

use candor_config::config;
use candor_config::plan::Plan;

use super::*;
use crate::border::{Bystander, DriverOrder, Flood, Inversion, Jitter, KnownFrom, NotRun, Order, PathRun, Spoofed};

const BUSES: &str = "[bus.plug]\ninterface = \"can0\"\n[bus.car]\ninterface = \"can1\"\nbitrate = \"500kbit/s\"\n";
/// With the nodes of the car, and one that is outside.
const DATABASE: &str = "BU_: ABS Tester\nBO_ 291 Speed: 8 ABS\nBO_ 2015 Request: 8 Tester\n";

fn plan(text: &str) -> Plan {
    let read = &mut |_path: &str| Ok(DATABASE.as_bytes().to_vec());
    config::load_for(text.as_bytes(), None, read).unwrap_or_else(|findings| panic!("{text}\n{findings:#?}")).plan
}

/// Buses, with an engine that can run guards, and these routes.
fn file(routes: &str) -> String {
    format!("engine = \"auto\"\n{BUSES}{routes}")
}

/// A route from the plug to the car.
fn inward(lines: &str) -> String {
    format!("[[route]]\nname = \"in\"\nfrom = \"plug\"\nto = \"car\"\n{lines}\n")
}

fn outward(lines: &str) -> String {
    format!("[[route]]\nname = \"out\"\nfrom = \"car\"\nto = \"plug\"\n{lines}\n")
}

struct Options<'a> {
    outside: &'a [&'a str],
    speaks_j1939: bool,
    runs: Option<&'a Runs>,
    signature: Signature,
}

const USUAL: Options<'static> =
    Options { outside: &[], speaks_j1939: false, runs: None, signature: Signature::Missing };

fn judged(id: &str, text: &str, options: &Options<'_>) -> Opinion {
    let plans: Vec<Plan> = plan(text).in_each_mode().collect();
    let borders: Vec<_> = plans.iter().filter_map(|plan| Border::of(plan, &["plug".to_owned()]).ok()).collect();
    let places: Vec<_> = borders.iter().map(|border| Places::of(text.as_bytes(), border.plan).unwrap()).collect();
    let outside: Vec<String> = options.outside.iter().map(|node| (*node).to_owned()).collect();
    let subject = |(border, places)| Subject {
        border,
        places,
        outside: &outside,
        speaks_j1939: options.speaks_j1939,
        signature: &options.signature,
        runs: options.runs,
        max_jitter: Duration::from_micros(55),
    };
    let subjects: Vec<Subject<'_>> = borders.iter().zip(&places).map(subject).collect();
    judge(&subjects, find(id).into_iter()).remove(0).opinion
}

/// The verdict from the file alone, and what the findings underline.
fn verdict<'t>(id: &str, text: &'t str) -> (Verdict, Vec<&'t str>) {
    let opinion = judged(id, text, &USUAL);
    let places = opinion.findings.iter().map(|finding| &text[finding.primary.span.clone()]);
    (opinion.verdict, places.collect())
}

const HOLDS: (Verdict, Vec<&str>) = (Verdict::Holds, Vec::new());
const GUARD: &str = "guard = { rate = \"50 frames/s\", on-violation = \"drop\" }";

#[test]
fn floods_are_limited_by_guards_that_drop() {
    for id in ["AGW-S-002", "CGW-S-006"] {
        assert_eq!(verdict(id, &file(&inward(&format!("match = \"7DF\"\n{GUARD}")))), HOLDS, "{id}");
        let counting = file(&inward("match = \"7DF\"\nguard = { rate = \"50 frames/s\" }"));
        assert_eq!(verdict(id, &counting), (Verdict::Violated, vec!["{ rate = \"50 frames/s\" }"]), "{id}");
        let open = file(&inward("match = \"7DF\""));
        assert_eq!(verdict(id, &open), (Verdict::Violated, vec!["[[route]]"]), "{id}");
    }
}

#[test]
fn limits_of_many_identifiers_add_up() {
    let of_each = file(&inward(&format!("match = \"100..1FF\"\n{GUARD}")));
    assert_eq!(verdict("CGW-S-006", &of_each), (Verdict::Violated, vec!["car"]));
    let shared = "match = \"100..1FF\"\nframes = \"classic\"\nguard = { rate = \"50 frames/s\", per = \"route\", on-violation = \"drop\" }";
    assert_eq!(verdict("CGW-S-006", &file(&inward(shared))), HOLDS);
    let opinion = judged("CGW-S-006", &file(&inward(shared)), &USUAL);
    // 52 frames of 160 bits: two at once, and 50 in the second.
    assert!(opinion.figures.iter().any(|(_, value)| value == "at most 1.7 % of 500 kbit/s"), "{:?}", opinion.figures);
    let bits = "match = \"7DF\"\nguard = { bit-rate = \"20kbit/s\", on-violation = \"drop\" }";
    assert_eq!(verdict("CGW-S-006", &file(&inward(bits))), HOLDS);
}

#[test]
fn bursts_and_unknown_bit_rates_are_no_limit() {
    let burst = "match = \"7DF\"\nguard = { rate = \"50 frames/s\", burst = 100000, on-violation = \"drop\" }";
    assert_eq!(verdict("AGW-S-002", &file(&inward(burst))), (Verdict::Violated, vec!["car"]));
    let unknown = file(&inward(&format!("match = \"7DF\"\n{GUARD}"))).replace("bitrate = \"500kbit/s\"\n", "");
    assert_eq!(verdict("AGW-S-002", &unknown), (Verdict::NotJudged, Vec::new()));
}

#[test]
fn frames_of_the_gateway_itself_are_no_other_nodes() {
    let with = |alarm: &str| {
        let guard =
            format!("match = \"7E0\"\nguard = {{ len = 8, alarm = {{ to = \"car\", frame = \"{alarm}#01\" }} }}");
        format!("{}[database]\ncar = \"car.dbc\"\n", file(&inward(&guard)))
    };
    for id in ["CGW-S-007", "CGW-S-008e"] {
        assert_eq!(verdict(id, &with("7F0")), HOLDS, "{id}");
        assert_eq!(verdict(id, &with("123")).0, Verdict::Violated, "{id}");
    }
}

#[test]
fn timed_routes_are_limited() {
    assert_eq!(verdict("CGW-S-006", &file(&inward("match = \"7DF\"\ncycle = \"20ms\""))), HOLDS);
    assert_eq!(verdict("CGW-S-006", &file(&inward("match = \"7DF\"\nmin-delay = \"20ms\""))), HOLDS);
    let events = file(&inward("match = \"7DF\"\non-change = true"));
    assert_eq!(verdict("CGW-S-006", &events).0, Verdict::Violated);
}

#[test]
fn identifiers_of_trusted_nodes_cannot_enter() {
    let with_database = |routes: &str| format!("{}[database]\ncar = \"car.dbc\"\n", file(routes));
    for id in ["AGW-S-003", "CGW-S-007", "CGW-S-008e"] {
        assert_eq!(verdict(id, &with_database(&inward("match = \"100\""))), HOLDS, "{id}");
        let spoofed = with_database(&inward("match = \"120..12F\""));
        assert_eq!(verdict(id, &spoofed), (Verdict::Violated, vec!["\"120..12F\""]), "{id}");
    }
    let opinion = judged("CGW-S-007", &with_database(&inward("match = \"100\"\nto-id = \"123\"")), &USUAL);
    assert!(opinion.findings[0].message.contains("such as Speed"), "{opinion:?}");
    // The tester is outside, if one says so.
    let request = with_database(&inward("match = \"7DF\""));
    assert_eq!(verdict("CGW-S-007", &request).0, Verdict::Violated);
    let outside = Options { outside: &["Tester"], ..USUAL };
    assert_eq!(judged("CGW-S-007", &request, &outside).verdict, Verdict::Holds);
}

#[test]
fn identifiers_that_routes_take_from_trusted_buses_cannot_enter() {
    let apart = file(&(inward("match = \"7E0..7E7\"") + &outward("match = \"7E8..7EF\"")));
    // Nobody says what else the nodes of the car send.
    assert_eq!(verdict("CGW-S-007", &apart), (Verdict::NotJudged, Vec::new()));
    let meeting = file(&(inward("match = \"7E0..7EF\"") + &outward("match = \"7E8\"")));
    assert_eq!(verdict("CGW-S-007", &meeting), (Verdict::Violated, vec!["\"7E0..7EF\""]));
    let any = file(&inward(""));
    assert_eq!(verdict("CGW-S-007", &any), (Verdict::Violated, vec!["[[route]]"]));
}

#[test]
fn frames_are_lost_by_design_only_through_limits() {
    for id in ["AGW-S-006", "CGW-S-005a"] {
        let limited = file(&inward(&format!("match = \"7DF\"\n{GUARD}")));
        assert_eq!(verdict(id, &limited), (Verdict::NotJudged, Vec::new()), "{id}");
        let aged = file(&inward("match = \"7DF\"\nmax-age = \"20ms\""));
        assert_eq!(verdict(id, &aged), (Verdict::Violated, vec!["\"20ms\""]), "{id}");
        let oldest = file(&outward("match = \"7E8\"\nwhen-full = \"drop-oldest\"")) + &inward("match = \"7DF\"");
        assert_eq!(verdict(id, &oldest), (Verdict::Violated, vec!["\"drop-oldest\""]), "{id}");
        let replaced =
            file(&inward("match = \"7DF\"")) + "[egress.car]\nqueue = \"arbitration\"\nreplace = \"same-id\"\n";
        assert_eq!(verdict(id, &replaced), (Verdict::Violated, vec!["car"]), "{id}");
    }
}

#[test]
fn urgent_frames_leave_first() {
    let route = inward("match = [\"100\", \"200\"]");
    let with = |egress: &str| file(&route) + egress;
    assert_eq!(verdict("CGW-S-005b", &with("[egress.car]\nqueue = \"arbitration\"\n")), HOLDS);
    assert_eq!(verdict("CGW-S-005b", &with("")), (Verdict::Violated, vec!["car"]));
    let bands = |urgent: &str| {
        with(&format!(
            "[[egress.car.band]]\nname = \"a\"\nmatch = \"{urgent}\"\n[[egress.car.band]]\nname = \"rest\"\n"
        ))
    };
    assert_eq!(verdict("CGW-S-005b", &bands("100")), HOLDS);
    assert_eq!(verdict("CGW-S-005b", &bands("200")).0, Verdict::Violated);
    // Both are in the last band.
    let opinion = judged("CGW-S-005b", &bands("050"), &USUAL);
    assert_eq!(opinion.findings[0].message, "In band \"rest\" of bus \"car\", 100 waits for 200 if that came first");
}

#[test]
fn bands_keep_the_order_of_one_identifier() {
    let bands = |selection: &str| {
        let bands = format!("[[egress.car.band]]\nname = \"a\"\n{selection}\n[[egress.car.band]]\nname = \"rest\"\n");
        file(&inward("match = \"100\"")) + &bands
    };
    assert_eq!(verdict("CGW-S-005c", &bands("match = \"100\"")).0, Verdict::NotJudged);
    assert_eq!(verdict("CGW-S-005c", &bands("length = \"0..4\"")).0, Verdict::Violated);
    // It demands both.
    assert_eq!(verdict("CGW-S-005d", &bands("length = \"0..4\"")).0, Verdict::Violated);
    assert_eq!(verdict("CGW-S-005d", &bands("match = \"100\"")).0, Verdict::NotJudged);
    assert_eq!(verdict("CGW-S-005d", &file(&inward("match = \"100\""))).0, Verdict::Violated);
}

#[test]
fn address_claims_and_source_addresses_cannot_enter() {
    let speaks = Options { speaks_j1939: true, ..USUAL };
    let of = |id: &str, route: &str, options: &Options<'_>| judged(id, &file(&inward(route)), options).verdict;
    let (data, claim) = ("match = \"18FEF100:9FFFFF00\"", "match = \"18EEFF00:9FFFFF00\"");
    for (id, good, bad) in [("J1939GW-S-029", data, claim), ("J1939GW-S-039", "match = \"7DF\"", data)] {
        assert_eq!(of(id, good, &speaks), Verdict::Holds, "{id}");
        assert_eq!(of(id, bad, &speaks), Verdict::Violated, "{id}");
        assert_eq!(of(id, bad, &USUAL), Verdict::NotJudged, "{id}");
        assert_eq!(of(id, "", &speaks), Verdict::Violated, "{id}");
    }
    assert_eq!(of("J1939GW-S-089", claim, &speaks), Verdict::Holds);
    let guarded = |j1939: &str, fate: &str| format!("guard = {{ j1939 = {j1939}, on-violation = \"{fate}\" }}");
    let [claims, addresses] = ["J1939GW-S-029", "J1939GW-S-039"];
    let learned = guarded("\"claimed\"", "drop");
    assert_eq!([claims, addresses].map(|id| of(id, &learned, &speaks)), [Verdict::Holds; 2]);
    // Listed addresses need not be those that nodes claim.
    let listed = guarded("[\"0B\"]", "drop");
    assert_eq!([claims, addresses].map(|id| of(id, &listed, &speaks)), [Verdict::Holds, Verdict::Violated]);
    let counted = guarded("\"claimed\"", "count");
    assert_eq!([claims, addresses].map(|id| of(id, &counted, &speaks)), [Verdict::Violated; 2]);
}

#[test]
fn modes_are_entered_by_who_may_and_announced_everywhere() {
    let with = |keys: &str| {
        let mode = format!("[mode.service]\nfor = \"1min\"\n{keys}\n");
        let route = inward("match = \"7E0\"").replace("[[route]]\n", "[[route]]\nmode = \"service\"\n");
        file(&inward("match = \"7DF\"").replace("name = \"", "name = \"other-")) + &route + &mode
    };
    let announced = "announce = { to = [\"plug\", \"car\"], frame = \"7F1#01\" }";
    let text = with(announced);
    assert_eq!(["AGW-S-010", "AGW-S-011"].map(|id| verdict(id, &text)), [HOLDS, HOLDS]);
    let open = with(&format!("{announced}\nenter = {{ from = \"plug\", frame = \"7F0#0153\" }}"));
    assert_eq!(verdict("AGW-S-010", &open), (Verdict::Violated, vec!["service"]));
    let owner = with(&format!("{announced}\nenter = {{ from = \"car\", frame = \"7F0#0153\" }}"));
    assert_eq!(verdict("AGW-S-010", &owner), HOLDS);
    let half = with("announce = { to = [\"car\"], frame = \"7F1#01\" }");
    assert_eq!(verdict("AGW-S-011", &half), (Verdict::Violated, vec!["service"]));
    // Another route brings the frame.
    let echoed = owner.replace("match = \"7DF\"", "match = \"7F0\"\necho = true");
    assert_eq!(verdict("AGW-S-010", &echoed).0, Verdict::Violated);
    // A mode lifts what holds otherwise.
    let lifted = text.replace("match = \"7DF\"", &format!("match = \"7DF\"\n{GUARD}"));
    let opinion = judged("CGW-S-006", &lifted, &USUAL);
    assert_eq!((opinion.verdict, opinion.findings[0].severity), (Verdict::NotJudged, Severity::Note));
    assert!(opinion.reason.contains("in mode \"service\" it is lifted"), "{opinion:?}");
    let limited = lifted.replace("match = \"7E0\"", &format!("match = \"7E0\"\n{GUARD}"));
    assert_eq!(verdict("CGW-S-006", &limited), HOLDS);
    // Nothing crosses otherwise.
    let only = file(&inward("mode = \"service\"\nmatch = \"7E0\""))
        + &format!("[mode.service]\nfor = \"1min\"\n{announced}\n");
    assert_eq!(verdict("CGW-S-006", &only).0, Verdict::Violated);
    let none = judged("AGW-S-011", &file(&inward("match = \"7DF\"")), &USUAL);
    assert_eq!(none.verdict, Verdict::NotJudged);
}

#[test]
fn signatures_are_needed() {
    let with = |signature| {
        let options = Options { signature, ..USUAL };
        judged("AGW-S-000", &file(&inward("match = \"7DF\"")), &options)
    };
    let files = vec![("car.toml".to_owned(), "signed by 1 of border.pub, \"\"".to_owned())];
    assert_eq!(with(Signature::Valid { files }).verdict, Verdict::Holds);
    assert_eq!(with(Signature::Missing).verdict, Verdict::Violated);
    assert_eq!(with(Signature::NoKey { path: "car.toml.minisig".to_owned() }).verdict, Verdict::NotJudged);
    let refused = with(Signature::Refused { why: "It is not".to_owned() });
    assert!(refused.verdict == Verdict::Violated && refused.reason.starts_with("It is not: "), "{refused:?}");
}

#[test]
fn borders_need_both_sides_and_a_way_in() {
    let of = |text: &str, buses: &[&str]| {
        let names: Vec<String> = buses.iter().map(|name| (*name).to_owned()).collect();
        Border::of(&plan(text), &names).map(|_border| ()).map_err(|error| error.to_string())
    };
    let text = file(&outward("match = \"7E8\""));
    let error = |buses: &[&str]| of(&text, buses).unwrap_err();
    assert_eq!(error(&["plugs"]), "there is no bus plugs; the file has plug, car");
    assert_eq!(error(&["plug", "car"]), "all buses are untrusted: plug, car; a border needs a bus that is not");
    assert_eq!(
        error(&["plug"]),
        "no frame from plug gets to another bus, so there is nothing to judge; frames cross from car"
    );
    assert_eq!(of(&text, &["car"]), Ok(()));
}

fn order() -> Order {
    Order {
        identifiers: 1,
        period_ns: 1_000_000,
        sent_frames: 100,
        arrived_frames: 100,
        refused_frames: 0,
        dropped_frames: 0,
        lost_frames: 0,
        is_numbered: true,
        out_of_order_frames: 0,
        out_of_order_between_identifiers_frames: 0,
        duplicated_frames: 0,
    }
}

/// Runs of the route `in`, with nothing wrong.
fn runs() -> Runs {
    let bystander = Bystander {
        identifier_hex: "001".to_owned(),
        period_ns: 10_000_000,
        sent_frames: 10,
        arrived_frames: 10,
        max_delay_ns: 20_000,
    };
    let flood = Flood {
        time_ns: 100_000_000,
        period_ns: 100_000,
        sent_frames: 1000,
        arrived_frames: 8,
        arrived_in_second_half_frames: 3,
        refused_frames: 992,
        window_ns: 10_000_000,
        fullest_window_frames: 5,
        bystander,
    };
    let inversion = Inversion {
        bit_rate_bits_per_s: 500_000,
        controller_frames: 2,
        queue_frames: 10,
        low_frame_ns: 270_000,
        low_identifier_hex: "7FF".to_owned(),
        low_sent_frames: 100,
        low_arrived_frames: 100,
        low_max_ns: 9_000_000,
        urgent_identifier_hex: "7DF".to_owned(),
        urgent_sent_frames: 10,
        urgent_arrived_frames: 10,
        urgent_max_ns: 1_000_000,
        max_low_frames_before_urgent: 3,
    };
    let jitter = Jitter {
        period_ns: 10_000_000,
        frames: 100,
        min_ns: 10_000,
        p50_ns: 11_000,
        p99_ns: 14_000,
        max_ns: 15_000,
        max_gap_deviation_ns: 5000,
    };
    let path = PathRun {
        route: "in".to_owned(),
        from: "plug".to_owned(),
        to: "car".to_owned(),
        frame: "7DF#".to_owned(),
        leaves_as_hex: "7DF".to_owned(),
        is_timed: false,
        flood,
        order: order(),
        order_of_several: None,
        jitter: Some(jitter),
        inversion: Some(inversion),
    };
    let driver = DriverOrder {
        driver: "gs_usb".to_owned(),
        identifiers: 4,
        sent_frames: 100,
        received_frames: 100,
        out_of_order_frames: 0,
        out_of_order_between_identifiers_frames: 0,
        duplicated_frames: 0,
    };
    let spoofed = Spoofed {
        bus: "car".to_owned(),
        from: "plug".to_owned(),
        identifier_hex: "123".to_owned(),
        known_from: KnownFrom::Route { name: "out".to_owned() },
        sent_frames: 10,
        arrived_frames: 0,
    };
    Runs {
        kernel_release: "6.1.0".to_owned(),
        paths: vec![path],
        not_run: Vec::new(),
        spoofed: vec![spoofed],
        drivers: vec![driver],
    }
}

/// The verdict with good runs, and with runs that are changed.
fn with_runs(id: &str, text: &str, change: impl FnOnce(&mut Runs)) -> [(Verdict, By); 2] {
    let (good, mut bad) = (runs(), runs());
    change(&mut bad);
    [good, bad].map(|runs| {
        let opinion = judged(id, text, &Options { runs: Some(&runs), ..USUAL });
        (opinion.verdict, opinion.by)
    })
}

#[test]
fn figures_of_runs_decide() {
    let text = format!(
        "{}[database]\ncar = \"car.dbc\"\n[egress.car]\nqueue = \"arbitration\"\n",
        file(&inward(&format!("match = \"100\"\n{GUARD}")))
    );
    let both = |by| [(Verdict::Holds, by), (Verdict::Violated, by)];
    let path: fn(&mut Runs) -> &mut PathRun = |runs| &mut runs.paths[0];
    let file = By::FileAndRuns;
    assert_eq!(with_runs("CGW-S-006", &text, |runs| path(runs).flood.arrived_in_second_half_frames = 480), both(file));
    assert_eq!(with_runs("AGW-S-002", &text, |runs| path(runs).flood.bystander.arrived_frames = 9), both(file));
    assert_eq!(with_runs("CGW-S-007", &text, |runs| runs.spoofed[0].arrived_frames = 1), both(file));
    assert_eq!(with_runs("CGW-S-005a", &text, |runs| path(runs).order.lost_frames = 1), both(file));
    assert_eq!(
        with_runs("CGW-S-005b", &text, |runs| {
            path(runs).inversion.as_mut().unwrap().max_low_frames_before_urgent = 4;
        }),
        both(file)
    );
    assert_eq!(with_runs("CGW-S-005c", &text, |runs| path(runs).order.out_of_order_frames = 1), both(By::Runs));
    assert_eq!(with_runs("CGW-S-005c", &text, |runs| runs.drivers[0].out_of_order_frames = 1), both(By::Runs));
    assert_eq!(with_runs("CGW-S-005d", &text, |runs| path(runs).order.duplicated_frames = 1), both(file));
    assert_eq!(
        with_runs("CGW-S-005e", &text, |runs| path(runs).jitter.as_mut().unwrap().max_gap_deviation_ns = 55_001),
        both(By::Runs)
    );
}

#[test]
fn what_was_not_run_is_not_judged() {
    let text = file(&inward(&format!("match = \"100\"\n{GUARD}")));
    let not_run = |runs: &mut Runs| {
        let because = "no frame was found".to_owned();
        let [route, from, to] = ["other", "plug", "car"].map(str::to_owned);
        runs.not_run.push(NotRun { route, from, to, because });
    };
    for id in ["CGW-S-006", "CGW-S-005a", "CGW-S-005c", "CGW-S-005e"] {
        let [good, without] = with_runs(id, &text, not_run).map(|(verdict, _)| verdict);
        assert_eq!([good, without], [Verdict::Holds, Verdict::NotJudged], "{id}");
    }
    // Frames in the other direction are not run.
    let two_ways = text.clone() + &outward("match = \"7E8\"");
    assert_eq!(with_runs("CGW-S-005a", &two_ways, |_runs| {})[0].0, Verdict::NotJudged);
    let unnumbered = |runs: &mut Runs| runs.paths[0].order.is_numbered = false;
    assert_eq!(with_runs("CGW-S-005c", &text, unnumbered)[1].0, Verdict::NotJudged);
    let timed = |runs: &mut Runs| {
        let path = &mut runs.paths[0];
        (path.is_timed, path.order.lost_frames, path.order.duplicated_frames) = (true, 50, 50);
    };
    for id in ["CGW-S-005a", "CGW-S-005c"] {
        assert_eq!(with_runs(id, &text, timed)[1].0, Verdict::Holds, "{id}");
    }
    let without_jitter = |runs: &mut Runs| runs.paths[0].jitter = None;
    assert_eq!(with_runs("CGW-S-005e", &text, without_jitter)[1].0, Verdict::NotJudged);
}
