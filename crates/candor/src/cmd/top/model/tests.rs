use super::*;

fn route(handled: u64, latencies: &[(f64, u64)]) -> Route {
    Route {
        name: "speed".into(),
        side: "user".into(),
        handled,
        bytes: Some(8 * handled),
        drops: vec![("full".into(), handled / 10), ("down".into(), 1)],
        latencies: latencies.to_vec(),
        ..Route::default()
    }
}

fn bus(frames: u64, busy_s: f64) -> Bus {
    Bus {
        name: "car".into(),
        is_up: true,
        busy_s: Some((busy_s, 2.0 * busy_s)),
        received: Some(frames),
        sent: Some(frames / 2),
        lost: frames / 100,
        ..Bus::default()
    }
}

fn sample(uptime_s: f64, route: Route, bus: Bus) -> Sample {
    Sample { version: "0".into(), uptime_s, routes: vec![route], buses: vec![bus], ..Sample::default() }
}

#[test]
fn computes_rates_from_two_samples() {
    let mut model = Model::default();
    model.take(sample(10.0, route(100, &[]), bus(1000, 1.0)));
    let (one, bus_row) = (&model.routes()[0], &model.buses()[0]);
    assert_eq!((one.frames_per_s, one.dropped, one.handled), (None, 11, 100));
    assert_eq!((bus_row.load(), bus_row.received_per_s, bus_row.lost), (None, None, 10));
    model.take(sample(12.0, route(300, &[]), bus(1500, 1.5)));
    let (one, bus_row) = (&model.routes()[0], &model.buses()[0]);
    assert_eq!((one.frames_per_s, one.byte_per_s, one.drops_per_s), (Some(100.0), Some(800.0), Some(10.0)));
    assert_eq!(
        (bus_row.load(), bus_row.received_per_s, bus_row.sent_per_s),
        (Some((0.25, 0.5)), Some(250.0), Some(125.0))
    );
    assert_eq!(one.history, [Moment { frames_per_s: Some(100.0), latency: None }]);
}

#[test]
fn starts_over_after_a_restart_of_the_gateway() {
    let mut model = Model::default();
    model.take(sample(10.0, route(1000, &[]), bus(1000, 1.0)));
    model.take(sample(11.0, route(2000, &[]), bus(2000, 1.0)));
    model.reset();
    assert_eq!((model.routes()[0].dropped, model.buses()[0].lost), (0, 0));
    model.take(sample(0.5, route(50, &[]), bus(20, 0.0)));
    let one = &model.routes()[0];
    assert_eq!((one.frames_per_s, one.dropped), (None, 6), "there is nothing to compare with");
    assert!(model.counts_from_start());
    model.take(sample(1.5, route(70, &[]), bus(30, 0.0)));
    assert_eq!(model.routes()[0].frames_per_s, Some(20.0));
}

#[test]
fn has_no_rate_for_a_replaced_route() {
    let mut model = Model::default();
    model.take(sample(10.0, route(1000, &[]), bus(1000, 1.0)));
    // Another file was read: the same name, another route, and the interface was exchanged.
    model.take(sample(11.0, route(5, &[]), bus(10, 1.1)));
    assert_eq!((model.routes()[0].frames_per_s, model.buses()[0].received_per_s), (None, None));
    model.take(sample(12.0, Route { name: "new".into(), ..route(5, &[]) }, bus(20, 1.2)));
    assert_eq!((model.routes()[0].route.as_str(), model.routes()[0].frames_per_s), ("new", None));
}

#[test]
fn ignores_a_second_sample_of_the_same_moment() {
    let mut model = Model::default();
    for (uptime_s, handled) in [(10.0, 100), (11.0, 200), (11.0, 200)] {
        model.take(sample(uptime_s, route(handled, &[]), bus(0, 0.0)));
    }
    assert_eq!(model.routes()[0].frames_per_s, Some(100.0));
}

#[test]
fn computes_percentiles_of_the_last_interval() {
    let bounds = |counts: [u64; 4]| [0.000_1, 0.001, 0.01, f64::INFINITY].into_iter().zip(counts).collect::<Vec<_>>();
    let mut model = Model::default();
    model.take(sample(1.0, route(1000, &bounds([0, 0, 0, 1000])), bus(0, 0.0)));
    assert!(model.routes()[0].is_measured && model.routes()[0].p50.is_none());
    // 100 frames: 60 in the first class, 38 in the second, one each in the others.
    model.take(sample(2.0, route(1100, &bounds([60, 98, 99, 1100])), bus(0, 0.0)));
    let one = &model.routes()[0];
    assert_eq!(one.p50, Some(Latency::AtMost { seconds: 0.000_1 }));
    assert_eq!(one.p99, Some(Latency::AtMost { seconds: 0.01 }));
    assert_eq!(one.history[0].latency, Some(2.0 / 3.0));
    // All above the last bound, and then none at all.
    model.take(sample(3.0, route(1110, &bounds([60, 98, 99, 1110])), bus(0, 0.0)));
    assert_eq!(model.routes()[0].p99, Some(Latency::Above { seconds: 0.01 }));
    model.take(sample(4.0, route(1110, &bounds([60, 98, 99, 1110])), bus(0, 0.0)));
    assert_eq!((model.routes()[0].p99, model.routes()[0].history[2].latency), (None, None));
}

#[test]
fn limits_the_history() {
    let mut model = Model::default();
    for second in 0..2 * HISTORY as u64 {
        model.take(sample(second as f64, route(second, &[]), bus(0, 0.0)));
    }
    assert_eq!(model.routes()[0].history.len(), HISTORY);
}

#[test]
fn signals_keep_their_values_and_frames_have_rates() {
    let sample = |uptime_s: f64, sent, dropped, value| {
        let frames = vec![Frame { name: "Dashboard".into(), sent, dropped, ..Frame::default() }];
        let signals = vec![Signal { name: "Speed".into(), value, ..Signal::default() }];
        Sample { uptime_s, frames, signals, ..Sample::default() }
    };
    let mut model = Model::default();
    model.take(sample(1.0, 10, 1, Some(5.0)));
    assert_eq!((model.frames()[0].sent_per_s, model.frames()[0].dropped), (None, 1));
    model.take(sample(2.0, 30, 3, None));
    model.take(sample(3.0, 40, 3, Some(7.0)));
    assert_eq!((model.frames()[0].sent_per_s, model.frames()[0].dropped), (Some(10.0), 3));
    assert_eq!(model.signals()[0].history, [5.0, 7.0]);
    model.reset();
    assert_eq!(model.frames()[0].dropped, 0);
    (4..99_u16).for_each(|second| model.take(sample(second.into(), 40, 3, Some(second.into()))));
    let history = &model.signals()[0].history;
    assert_eq!((history.len(), history[0], history[HISTORY - 1]), (HISTORY, 39.0, 98.0));
}
