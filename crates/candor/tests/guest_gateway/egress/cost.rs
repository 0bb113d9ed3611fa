//! `candor-lab can-send` with the queues of a file.

use super::*;

fn gateway(interface: &str) -> String {
    format!(
        "[bus.near]\ninterface = \"{interface}\"\n[[egress.near.band]]\nname = \"urgent\"\nmatch = \"123\"\n\
         [[egress.near.band]]\nname = \"rest\"\n"
    )
}

fn can_send(gateway: &str) -> Output {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), gateway).unwrap();
    let words = "can-send --interface t-near --frames 3 --frame 123#00 --frame 124#R --json".split(' ');
    lab_output(&words.chain([file.path().to_str().unwrap()]).collect::<Vec<_>>())
}

#[test]
#[ignore = "runs in a guest"]
fn can_send_measures_queues_and_restores_the_interface() {
    let Some(_machine) = require(VCAN) else { return };
    let mut place = Place::new();
    let before = of(vec![prio()], vec![], vec![filter(Handle::new(1, 0), Classifier::Matchall)]);
    place.make(&before).unwrap();
    let run = can_send(&gateway(NEAR));
    assert_eq!(run.status, 0, "{run:?}");
    let measured = run.json()["measured"].as_array().unwrap().clone();
    let names: Vec<_> = measured.iter().map(|one| one["before"].clone()).collect();
    assert_eq!(names, ["as it is", "bands"]);
    for one in &measured {
        let calls = one["calls"].as_array().unwrap();
        assert_eq!(calls.iter().map(|call| call["frame"].clone()).collect::<Vec<_>>(), ["123#00", "124#R"]);
        let is_ordered = |call: &Value| {
            let [min, p50, max] = ["min_ns", "p50_ns", "max_ns"].map(|key| call[key].as_i64().unwrap());
            min <= p50 && p50 <= max
        };
        assert!(calls.iter().all(is_ordered), "{calls:?}");
    }
    assert_eq!(differences(&before, &place.observe().tree), []);
    // A file without this interface is refused.
    assert_eq!(can_send(&gateway(FAR)).status, 2);
    assert_eq!(differences(&before, &place.observe().tree), []);
    place.clear();
}
