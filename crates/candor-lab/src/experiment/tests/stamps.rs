//! Plans with timestamps of an adapter.

use super::*;

const HOST: &str = "stamps = \"hardware\"\n[factor]\ntestbed = \"host\"\ngateway = [\"none\", \"kernel\"]\n[bench]\nsend = \"can0\"\n\
                    monitor = \"can1\"\nreceive = \"can4\"\nfrom = \"can2\"\nto = \"can3\"\n";

/// Code, place, and message with remedy.
fn refused(text: &str) -> Vec<(&'static str, String, String)> {
    let Err(findings) = load(text.as_bytes(), Available::default()) else { panic!("the plan is valid: {text}") };
    let found = findings.into_iter().map(|finding| {
        let place = text[finding.primary.span].to_owned();
        (finding.code, place, format!("{}; {}", finding.message, finding.help.unwrap_or_default()))
    });
    found.collect()
}

#[test]
fn kernel_timestamps_are_the_default() {
    let guest = "[factor]\ngateway = \"kernel\"\n";
    assert_eq!(plan(guest).stamps, StampSource::Kernel);
    assert_eq!(plan(&format!("stamps = \"kernel\"\n{guest}")), plan(guest));
    assert_eq!(plan(HOST).stamps, StampSource::Hardware);
    // Separate names, so that results of both are not mixed.
    let names = |text: &str| -> BTreeSet<String> {
        let plan = plan(text);
        plan.cells().iter().map(|cell| cell.name(&plan)).collect()
    };
    assert!(names(HOST).is_disjoint(&names(&HOST.replace("hardware", "kernel"))));
}

#[test]
fn bench_and_wire_may_have_adapter_timestamps() {
    let wire = "stamps = \"hardware\"\n[factor]\ntopology = \"wire\"\ngateway = [\"none\", \"kernel\"]\n";
    assert_eq!(plan(wire).cells().len(), 2);
    let ssh =
        HOST.replace("\"host\"", "\"ssh\"").replace("[\"none\", \"kernel\"]", "\"kernel\"") + "[ssh]\nhost = \"b\"\n";
    assert_eq!(plan(&ssh).cells().len(), 1);
    // Names of a board's interfaces mean nothing here.
    assert_eq!(plan(&ssh.replace("can3", "can4")).cells().len(), 1);
}

#[test]
fn impossible_adapter_timestamps_are_refused_with_a_remedy() {
    let host = |from: &str, to: &str| refused(&HOST.replace(from, to));
    for (found, parts) in [
        (
            refused("stamps = \"hardware\"\n[factor]\ngateway = \"kernel\"\n"),
            vec!["virtual interfaces have no adapter; write stamps = \"kernel\", or"],
        ),
        (
            refused("stamps = \"hardware\"\n[factor]\ntopology = [\"wire\", \"kvaser\"]\ngateway = \"kernel\"\n"),
            vec!["topology=kvaser shift=0 gateway=kernel rules=all", "the emulated cards take no timestamps; "],
        ),
        (
            refused("stamps = \"hardware\"\n[factor]\ntestbed = \"uml\"\ngateway = \"kernel\"\n"),
            vec!["virtual interfaces"],
        ),
        (host("can3", "can4"), vec!["can4 is the gateway's own interface", "write as `receive` another interface"]),
        (host("can2", "can1"), vec!["gateway=none", "can1 is monitor and far side at once", "[[exclude]]"]),
        (host("can4", "can1"), vec!["gateway=kernel", "can1 is monitor and far side at once"]),
        (
            refused(&(HOST.replace("\"host\"", "\"ssh\"") + "[ssh]\nhost = \"b\"\n")),
            vec!["gateway=none", "can1 is monitor and far side at once"],
        ),
        (
            refused(&format!("stages = true\n{HOST}")),
            vec!["`stages = true` and `stamps = \"hardware\"` exclude each other", "remove one of the two"],
        ),
    ] {
        let [(code, place, text)] = &found[..] else { panic!("one mistake: {found:?}") };
        assert_eq!((*code, place.as_str()), (code::IMPOSSIBLE, "\"hardware\""), "{text}");
        for part in parts {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }
}

#[test]
fn unknown_sources_are_refused() {
    let found = refused("stamps = \"hardwar\"\n[factor]\ngateway = \"kernel\"\n");
    let [(code, place, text)] = &found[..] else { panic!("one mistake: {found:?}") };
    assert_eq!((*code, place.as_str()), (code::STAMPS, "\"hardwar\""));
    assert!(text.starts_with("`hardwar` is not a source of timestamps; write \"kernel\", or \"hardware\""), "{text}");
    assert_eq!(findings("stamps = true\n[factor]\ngateway = \"kernel\"\n"), [("E0202", "true".to_owned())]);
}
