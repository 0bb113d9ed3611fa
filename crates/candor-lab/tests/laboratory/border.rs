//! What crosses a border: runs for `candor-lab evidence`.

use serde_json::Value;

use super::Lab;

const BUSES: &str = r#"
[bus.out]
interface = "can0"
bitrate = "500kbit/s"

[bus.in]
interface = "can1"
bitrate = "500kbit/s"

[database]
in = "in.dbc"
"#;
const DATABASE: &str = "BU_: Abs Tester\n\nBO_ 256 Brake: 8 Abs\n\nBO_ 1536 Wheels: 4 Abs\n";

/// The runs of this gateway between `out` and `in`, which are the same each time.
fn runs(lab: &Lab, rest: &str) -> Value {
    lab.write("in.dbc", DATABASE);
    let file = lab.write("border.toml", &format!("{rest}{BUSES}"));
    lab.call(&["evidence-runs", &file, "--untrusted", "out"]).exits_with(0).json()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key}: {value:#}"))
}

#[test]
#[ignore = "boots guests"]
fn a_border_that_holds_is_measured() {
    let Some(lab) = Lab::find() else { return };
    let runs = runs(
        &lab,
        r#"
        engine = "auto"

        [[route]]
        name = "wish"
        from = "out"
        to = "in"
        match = ["200", "201"]
        guard = { len = 8, rate = "100 frames/s", burst = 4, on-violation = "drop" }

        [[egress.in.band]]
        name = "border"
        match = ["200", "201"]

        [[egress.in.band]]
        name = "others"
    "#,
    );
    let [path] = &runs["paths"].as_array().unwrap()[..] else { panic!("{runs:#}") };
    assert_eq!((&path["route"], &path["leaves_as_hex"]), (&"wish".into(), &"200".into()));

    let flood = &path["flood"];
    let (sent, arrived) = (number(flood, "sent_frames"), number(flood, "arrived_frames"));
    // 500 kbit/s carry more than 3000 frames of 8 bytes in a second.
    assert!(sent > 1500, "{flood:#}");
    assert_eq!(arrived + number(flood, "refused_frames"), sent, "{flood:#}");
    // 100 frames/s in half a second, after the burst, at most.
    assert!((50..=55).contains(&arrived), "{flood:#}");
    assert!(number(flood, "fullest_window_frames") <= 15, "{flood:#}");
    assert_eq!(flood["bystander"]["sent_frames"], flood["bystander"]["arrived_frames"]);
    assert_eq!(flood["bystander"]["sent_frames"], 50);

    for order in [&path["order"], &path["order_of_several"]] {
        for key in ["refused_frames", "dropped_frames", "lost_frames", "out_of_order_frames", "duplicated_frames"] {
            assert_eq!(number(order, key), 0, "{key}: {order:#}");
        }
        assert_eq!((order["is_numbered"].as_bool(), &order["arrived_frames"]), (Some(true), &order["sent_frames"]));
        assert!(number(order, "sent_frames") > 50, "{order:#}");
    }
    assert_eq!((&path["order"]["identifiers"], &path["order_of_several"]["identifiers"]), (&1.into(), &2.into()));
    let jitter = &path["jitter"];
    assert!(number(jitter, "min_ns") > 0 && number(jitter, "max_ns") >= number(jitter, "p50_ns"), "{jitter:#}");

    let inversion = &path["inversion"];
    let before = number(inversion, "max_low_frames_before_urgent");
    assert!(before <= number(inversion, "controller_frames") + 1, "{inversion:#}");
    assert_eq!(inversion["urgent_sent_frames"], inversion["urgent_arrived_frames"]);
    assert_eq!(inversion["low_sent_frames"], inversion["low_arrived_frames"]);

    let spoofed = runs["spoofed"].as_array().unwrap();
    let ids: Vec<_> = spoofed.iter().map(|one| one["identifier_hex"].as_str().unwrap()).collect();
    assert_eq!(ids, ["100", "600"]);
    assert!(spoofed.iter().all(|one| one["sent_frames"] == 3 && one["arrived_frames"] == 0), "{spoofed:#?}");

    let drivers: Vec<_> = runs["drivers"].as_array().unwrap().iter().collect();
    let names: Vec<_> = drivers.iter().map(|one| one["driver"].as_str().unwrap()).collect();
    assert_eq!(names, ["kvaser_pci", "vcan", "gs_usb", "ucan"]);
    for driver in drivers {
        assert_eq!(driver["sent_frames"], driver["received_frames"], "{driver:#}");
        for key in ["out_of_order_frames", "out_of_order_between_identifiers_frames", "duplicated_frames"] {
            assert_eq!(number(driver, key), 0, "{key}: {driver:#}");
        }
    }
}

#[test]
#[ignore = "boots guests"]
fn a_border_that_leaks_is_measured() {
    let Some(lab) = Lab::find() else { return };
    let runs = runs(
        &lab,
        r#"
        [[route]]
        name = "all"
        from = "out"
        to = "in"
        match = "100..1FF"

        [[route]]
        name = "again"
        from = "out"
        to = "in"
        match = "180"
    "#,
    );
    let [all, again] = &runs["paths"].as_array().unwrap()[..] else { panic!("{runs:#}") };
    let flood = &all["flood"];
    assert_eq!((&flood["sent_frames"], number(flood, "refused_frames")), (&flood["arrived_frames"], 0));
    assert!(number(flood, "fullest_window_frames") > 300, "{flood:#}");
    // Two routes send it, in the kernel.
    assert_eq!(again["frame"], "180#0000000000000000");
    assert_eq!(number(&again["order"], "duplicated_frames"), number(&again["order"], "sent_frames"), "{again:#}");

    let inversion = &all["inversion"];
    assert!(number(inversion, "max_low_frames_before_urgent") > 10, "{inversion:#}");

    let spoofed = |id: &str| {
        let all = runs["spoofed"].as_array().unwrap();
        all.iter().find(|one| one["identifier_hex"] == id).unwrap_or_else(|| panic!("{all:#?}"))
    };
    assert_eq!((number(spoofed("100"), "arrived_frames"), number(spoofed("600"), "arrived_frames")), (3, 0));
    assert_eq!(spoofed("100")["known_from"]["senders"][0], "Abs");
}
