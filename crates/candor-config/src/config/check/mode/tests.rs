use std::time::Duration;

use crate::plan::Plan;
use crate::testing::{BUSES, check_cases, findings, loaded};

fn route(name: &str, more: &str) -> String {
    format!("[[route]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n{more}\n")
}

/// Two buses and a route that always exists, with these lines.
fn file(lines: &str) -> String {
    format!("{BUSES}{}{lines}\n", route("always", "match = \"100\""))
}

const SERVICE: &str = "[mode.service]\nfor = \"10min\"\nannounce = { to = [\"a\", \"b\"], frame = \"7F1#01\" }\n";

fn in_service(more: &str) -> String {
    route("flash", &format!("match = \"7E0\"\nmode = \"service\"\n{more}"))
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.routes().iter().map(|route| route.name.as_str()).collect()
}

#[test]
fn modes_are_refused_with_a_reason() {
    check_cases(include_str!("cases.txt"), file, findings);
}

#[test]
fn a_plan_has_the_routes_of_one_mode_at_most() {
    let other = SERVICE.replace("service", "test").replace("7F1", "7F2");
    let text = file(&format!("{SERVICE}{other}{}", in_service("")))
        + &route("probe", "match = \"7E1\"\nmode = \"test\"\nboth-ways = true")
        + &route("last", "match = \"200\"");
    let plan = loaded(&text);
    assert_eq!(names(&plan), ["always", "last"]);
    assert_eq!(plan.mode(), None);
    let service = plan.in_mode("service").unwrap();
    assert_eq!(names(&service), ["always", "flash", "last"]);
    assert_eq!(
        service.mode().map(|mode| (mode.name.as_str(), mode.lasts)),
        Some(("service", Duration::from_secs(600)))
    );
    assert_eq!(names(&service.in_mode("test").unwrap()), ["always", "probe", "probe/back", "last"]);
    assert_eq!(service.in_no_mode(), plan);
    assert_eq!(plan.in_mode("no such"), None);
    assert_eq!(plan.in_each_mode().map(|plan| plan.routes().len()).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(plan.has_in_a_mode("flash") && service.has_in_a_mode("flash") && !plan.has_in_a_mode("always"));
}

#[test]
fn a_frame_is_compared_as_a_whole() {
    let enter = "[mode.service]\nenter = { from = \"a\", frame = \"7F0#0153\" }\nfor = \"10s\"\n";
    let plan = loaded(&file(&format!("{enter}{}", in_service(""))));
    let enter = plan.modes()[0].enter.clone().unwrap();
    for (frame, is_it) in [
        ("7F0#0153", true),
        ("7F0#0152", false),
        ("7F0#015300", false),
        ("7F0#01", false),
        ("7F1#0153", false),
        ("000007F0#0153", false),
        ("7F0#R2", false),
        ("7F0##00153", false),
    ] {
        let mut bytes = [0; candor_core::frame::CANFD_MTU];
        let len = frame.parse::<candor_core::frame::Frame>().unwrap().to_kernel(&mut bytes);
        assert_eq!(enter.is(&bytes[..len]), is_it, "{frame}");
    }
    assert!(!enter.is(&[1, 2, 3]));
}

#[test]
fn a_bus_of_a_mode_is_used() {
    let text = file(&format!(
        "[bus.plug]\ninterface = \"can2\"\n[bus.horn]\ninterface = \"can3\"\n[mode.service]\nfor = \"1s\"\n\
         enter = {{ from = \"plug\", frame = \"7F0#01\" }}\nannounce = {{ to = \"horn\", frame = \"7F1#01\" }}\n{}",
        in_service("")
    ));
    let plan = loaded(&text);
    assert!((0..4).all(|bus| plan.uses(crate::plan::BusIndex(bus))));
    let codes: Vec<_> = findings(&text).into_iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["W0521"]);
}

/// Each mode is analysed as a gateway of its own, and what is known is not said again.
#[test]
fn routes_of_two_modes_do_not_meet() {
    let two = file(&format!(
        "{SERVICE}{}{}{}",
        SERVICE.replace("service", "test").replace("7F1", "7F2"),
        in_service(""),
        route("flash too", "match = \"7E0\"\nmode = \"test\"")
    ));
    assert_eq!(findings(&two), []);
    let same =
        file(&format!("{SERVICE}{}{}", in_service(""), route("flash too", "match = \"7E0\"\nmode = \"service\"")));
    let found = findings(&same);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].code, "W0503");
    assert_eq!(found[0].secondary.last().map(|label| label.text.as_str()), Some("in this mode"));
    let always = file(&format!("{SERVICE}{}{}", in_service(""), route("again", "match = \"100\"")));
    assert_eq!(findings(&always).len(), 1);
}

/// Entering a mode cannot fail because of the file.
#[test]
fn an_error_in_a_mode_is_one_of_the_file() {
    let pair = BUSES.to_owned()
        + "[bus.c]\ninterface = \"can2\"\nvxcan-peer = \"b\"\n"
        + &route("there", "match = \"100\"")
        + "[[route]]\nname = \"back\"\nfrom = \"c\"\nto = \"a\"\nmatch = \"300\"\nmode = \"service\"\n"
        + SERVICE;
    assert!(crate::config::load(pair.as_bytes()).is_ok());
    let ring = BUSES.to_owned()
        + "[bus.c]\ninterface = \"can2\"\nvxcan-peer = \"b\"\n[bus.d]\ninterface = \"can3\"\nvxcan-peer = \"a\"\n"
        + "[[route]]\nname = \"there\"\nfrom = \"d\"\nto = \"b\"\nmatch = \"100\"\n"
        + "[[route]]\nname = \"back\"\nfrom = \"c\"\nto = \"a\"\nmatch = \"100\"\nmode = \"service\"\n"
        + SERVICE;
    let found = crate::config::load(ring.as_bytes()).unwrap_err();
    assert!(found.iter().any(|finding| finding.code == "E0601"), "{found:#?}");
}

#[test]
fn what_was_counted_goes_on_in_the_next_mode() {
    let guarded = in_service("guard = { len = 8 }");
    let text = format!("engine = \"auto\"\n{}", file(&format!("{SERVICE}{guarded}")));
    let plan = loaded(&text).in_mode("service").unwrap();
    let tally = |plan: &Plan| plan.in_mode("service").unwrap().routes()[1].checks[0].clone();
    let first = tally(&plan);
    assert!(first.is(&tally(&plan.in_no_mode())));
    // Read again while the mode does not last.
    let mut again = loaded(&text);
    assert!(!first.is(&tally(&again)));
    again.go_on_from(&plan.in_no_mode());
    assert!(first.is(&tally(&again)));
}

/// A program that takes frames away runs before any socket.
#[test]
fn a_frame_that_a_program_takes_away_enters_no_mode() {
    let text = |keys: &str| {
        let enter = "[mode.service]\nfor = \"1h\"\nenter = { from = \"a\", frame = \"7F0#01\" }\n\
                     announce = { to = [\"a\", \"b\"], frame = \"7F1#01\" }\n";
        format!("engine = \"auto\"\n{}", file(&format!("{enter}{}", in_service(""))) + &route("taken", keys))
    };
    let codes = |keys: &str| findings(&text(keys)).iter().map(|finding| finding.code).collect::<Vec<_>>();
    assert_eq!(codes("match = \"7F0\"\nframes = \"classic\"\nexclusive = true"), ["E0431"]);
    assert_eq!(codes("match = \"7F0\"\nframes = \"classic\""), [""; 0]);
    assert_eq!(codes("match = \"7F2\"\nframes = \"classic\"\nexclusive = true"), [""; 0]);
}

#[test]
fn sync_frames_exist_wherever_they_are_needed() {
    let secoc = |own: &str, source: &str| {
        let sync = route("sync", &format!("match = \"0F\"\n{source}check = {{ secoc = \"sync\", key = \"k\" }}"));
        let user = route(
            "user",
            &format!("match = \"131\"\n{own}check = {{ secoc = \"P03\", key = \"k\", sync = \"sync\" }}"),
        );
        let text = format!("engine = \"auto\"\n{}", file(SERVICE)) + &sync + &user + &in_service("");
        let key = |_: &str| Ok(crate::config::Key::new([1; 16]));
        let found = crate::config::load_with(text.as_bytes(), None, &mut crate::config::no_files, &mut { key });
        let found = found.map_or_else(|found| found, |loaded| loaded.warnings);
        found.iter().any(|finding| finding.code == "E0431" && finding.message.contains("sync frames"))
    };
    let service = "mode = \"service\"\n";
    assert_eq!(
        [secoc("", ""), secoc(service, ""), secoc(service, service), secoc("", service)],
        [false, false, false, true]
    );
}
