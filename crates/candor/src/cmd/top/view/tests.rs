use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::cmd::top::sample::{Bus, Frame as Composed, Route, Sample, Signal};

const BOUNDS: [f64; 4] = [0.000_1, 0.000_2, 0.001, f64::INFINITY];

/// A sample at this second of the uptime.
fn sample(second: u64, routes: usize, buses: usize, is_measured: bool) -> Sample {
    let route = |number: usize| {
        let frames = second * (1203 + 10 * number as u64);
        // One second is slow.
        let slow = if second >= 7 { 40 } else { 0 };
        let latencies = BOUNDS.into_iter().zip([frames - frames / 5 - slow, frames - slow, frames - slow, frames]);
        let is_user = number != 1;
        Route {
            name: if number == 2 {
                "a name that is longer than there is room for it".into()
            } else {
                format!("route {number}")
            },
            from: "powertrain".into(),
            to: "body".into(),
            side: if is_user { "user" } else { "kernel" }.into(),
            handled: frames,
            bytes: is_user.then_some(8 * frames),
            drops: ["full", "expired", "down", "too-large", "other", "unknown"]
                .into_iter()
                .map(|reason| (reason.to_owned(), if reason == "full" && number == 0 { 3 * second } else { 0 }))
                .collect(),
            latencies: if is_user && is_measured { latencies.collect() } else { Vec::new() },
        }
    };
    let bus = |number: usize| Bus {
        name: ["powertrain", "body", "diagnosis"]
            .get(number)
            .map_or_else(|| format!("bus {number}"), |name| (*name).into()),
        interface: format!("can{number}"),
        is_up: number != 2,
        state: Some(if number == 1 { "bus-off" } else { "error-active" }.into()),
        bitrate: Some(500_000),
        busy_s: (number != 2).then_some((0.34 * second as f64, 0.55 * second as f64)),
        queue: Some(if number == 1 { 10 } else { 0 }),
        received: Some(3000 * second),
        sent: Some(12 * second),
        errors: if number == 1 { 128 } else { 0 },
        lost: if number == 0 { 17 } else { 0 },
        has_peer: None,
    };
    Sample {
        version: "0.1.0".into(),
        engine: "auto".into(),
        uptime_s: 3720.0 + second as f64,
        routes: (0..routes).map(route).collect(),
        buses: (0..buses).map(bus).collect(),
        ..Sample::default()
    }
}

/// With composed frames: one is silent.
fn composes(second: u64) -> Sample {
    let frame = |name: &str, sent, dropped, is_silent| Composed {
        name: name.into(),
        to: "body".into(),
        received: 300 * second,
        sent,
        dropped,
        is_silent,
        ..Composed::default()
    };
    let signal = |names: [&str; 5], value: f64, age_s, is_late| {
        let [name, from, unit, value_name, origin] = names.map(str::to_owned);
        Signal {
            frame: if name == "Outside" { "Climate" } else { "Dashboard" }.into(),
            name,
            from,
            value: Some(value),
            value_name: Some(value_name).filter(|name| !name.is_empty()),
            unit,
            origin,
            is_late,
            age_s,
            ..Signal::default()
        }
    };
    let ramp = second as f64 * 10.25;
    let signals = vec![
        signal(["Speed", "powertrain.ABS1.VehSpd", "km/h", "", "received"], ramp, Some(0.012), false),
        signal(["Gear", "powertrain.TCU1.Gear", "", "D", "received"], 3.0, Some(1.25), true),
        signal(["Braking", "powertrain.ABS1.Braking", "", "", "start"], 0.0, None, false),
        signal(["Outside", "diagnosis.Weather.OutsideTemperature", "degC", "", "timeout"], -1.5, Some(120.0), true),
    ];
    let frames = vec![frame("Dashboard", 10 * second, 3, false), frame("Climate", 1, 0, true)];
    Sample { frames, signals, ..sample(second, 1, 1, false) }
}

fn model(routes: usize, buses: usize, is_measured: bool) -> Model {
    let mut model = Model::default();
    (0..10).for_each(|second| model.take(sample(second, routes, buses, is_measured)));
    model
}

fn answers() -> Contact {
    Contact::Answers { title: "/etc/candor/car.toml, process 812".into() }
}

fn screen(width: u16, height: u16, model: &Model, view: &View, contact: &Contact) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| _ = draw(frame, model, view, contact)).unwrap();
    let lines = terminal.backend().to_string();
    lines.lines().map(|line| line.trim_matches('"').trim_end().to_owned() + "\n").collect()
}

#[test]
fn fits_a_gateway_in_80_columns() {
    insta::assert_snapshot!(screen(80, 24, &model(3, 3, true), &View::default(), &answers()));
}

#[test]
fn shows_more_columns_on_a_wide_screen() {
    let view = View { sort: Sort::Frames, is_paused: true, ..View::default() };
    insta::assert_snapshot!(screen(120, 40, &model(30, 16, true), &view, &answers()));
}

#[test]
fn shows_frame_rates_without_latencies() {
    insta::assert_snapshot!(screen(80, 12, &model(2, 2, false), &View::default(), &answers()));
}

#[test]
fn shows_the_signals_of_composed_frames() {
    let mut model = Model::default();
    (0..6).for_each(|second| model.take(composes(second)));
    let view = View { shows_signals: true, ..View::default() };
    let screens = [80, 120].map(|width| screen(width, 14, &model, &view, &answers()));
    insta::assert_snapshot!(screens.join("\n"));
    insta::assert_snapshot!("the_same_as_plain_text", crate::cmd::top::plain::text(&model, "car", true));
    let text = screen(80, 14, &self::model(1, 1, false), &view, &answers());
    assert!(text.contains("This gateway composes no frames") && !text.contains("route 1"), "{text}");
}

#[test]
fn stops_scrolling_at_the_end() {
    let model = model(30, 16, false);
    let view = View { above: [99, 99], ..View::default() };
    let text = screen(80, 24, &model, &view, &answers());
    assert!(text.contains("route 29") && text.contains("bus 15") && !text.contains("route 3 "), "{text}");
    assert!(text.contains("▸ROUTE") && text.contains("30/30") && text.contains("16/16"), "{text}");
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let mut most = [0; 2];
    terminal.draw(|frame| most = draw(frame, &model, &View::default(), &answers())).unwrap();
    assert!(most[0] > 0 && most[1] > 0 && most[1] < 30, "{most:?}");
}

#[test]
fn a_small_terminal_gets_a_message() {
    for (width, height) in [(79, 24), (80, 11), (40, 5), (10, 1), (1, 1)] {
        let text = screen(width, height, &model(3, 3, true), &View::default(), &answers());
        assert!(!text.contains("ROUTE"), "{text}");
        if width > 40 {
            assert!(text.contains("needs 80 columns and 12 lines"), "{text}");
        }
    }
}

#[test]
fn a_missing_gateway_is_reported() {
    let lost = Contact::Lost {
        why: "no gateway is running in this network namespace; start one: sudo candor run FILE".into(),
    };
    insta::assert_snapshot!(screen(80, 12, &Model::default(), &View::default(), &lost));
    let text = screen(80, 24, &model(2, 2, false), &View::default(), &lost);
    assert!(
        text.contains("GONE, waiting: no gateway is running") && text.contains("route 1"),
        "the last sample stays: {text}"
    );
    let text = screen(80, 12, &Model::default(), &View::default(), &Contact::NotYet);
    assert!(text.contains("Looking for a gateway"), "{text}");
}

#[test]
fn the_help_covers_the_tables() {
    let view = View { shows_help: true, ..View::default() };
    insta::assert_snapshot!(screen(80, 24, &model(3, 3, true), &view, &answers()));
}

#[test]
fn routes_are_sorted_as_selected() {
    let model = model(4, 1, true);
    let order = |sort: Sort| {
        let mut routes = model.routes();
        sort.sort(&mut routes);
        routes.into_iter().map(|route| route.route.chars().last().unwrap_or_default()).collect::<String>()
    };
    let all = [Sort::File, Sort::Name, Sort::Frames, Sort::Drops, Sort::Latency].map(order);
    assert_eq!(all, ["01t3", "t013", "3t10", "01t3", "0t31"]);
}

#[test]
fn every_size_can_be_drawn() {
    let mut model = model(5, 5, true);
    model.take(composes(60));
    for width in (1..140).step_by(23).chain([80]) {
        for height in [1, 2, 5, 11, 12, 13, 24, 50] {
            for shows_signals in [false, true] {
                let view = View { shows_help: height % 2 == 0, shows_signals, has_colour: true, ..View::default() };
                screen(width, height, &model, &view, &answers());
            }
        }
    }
}
