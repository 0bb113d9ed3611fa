//! `candor apply` of programs, which stay without a process.

use candor_core::filter::Filter;
use candor_io::guest;

use super::{FEATURES, Way, filters, gateway, has_ingress};
use crate::errors::unload_cangw;
use crate::prelude::*;
use crate::reconciled::Elsewhere;

impl Way {
    pub(super) fn write(&self, name: &str, gateway: &str) -> String {
        self.place.file(name, &format!("engine = \"bpf\"\n{gateway}"))
    }

    /// Handled frames of an applied route, by `candor status`; `None` if it is not in the kernel.
    fn handled(&self, route: &str) -> Option<u64> {
        self.counted_by_status(route).map(|[handled, _dropped]| handled)
    }

    pub(super) fn counted_by_status(&self, route: &str) -> Option<[u64; 2]> {
        let status = self.place.candor(&["status", "--json"]).json();
        let jobs: Vec<_> =
            status["owners"].as_array().unwrap().iter().flat_map(|owner| owner["jobs"].as_array().unwrap()).collect();
        let job = jobs.iter().find(|job| job["route"] == route).unwrap_or_else(|| panic!("no {route} in {status}"));
        assert_eq!(job["side"], "bpf");
        job["present"].as_bool().unwrap().then(|| ["handled", "dropped"].map(|key| job[key].as_u64().unwrap()))
    }
}

#[test]
#[ignore = "runs in a guest"]
fn applied_programs_work_without_a_process() {
    let Some(way) = Way::new() else { return };
    let file = way.write("way.toml", &gateway(&["100", "200"]));
    let run = |command: &str| way.place.candor(&[command, &file]);
    run("plan").assert(0, &["+   route \"r100\"", "in an eBPF program", "2 to add, 0 unchanged"]);
    way.assert_clean();
    run("apply").assert(0, &["applied: 2 added"]);
    assert!(way.forwards(0x100) && way.forwards(0x200) && !way.forwards(0x300));
    assert_eq!((way.handled("r100"), way.handled("r200")), (Some(1), Some(1)));
    // can-gw, which the file does not need, can go.
    let module = unload_cangw().unwrap();
    run("plan").assert(0, &["no difference, 2 jobs in the kernel"]);
    run("down").assert(0, &["Removed 2 eBPF filters of "]);
    run("apply").assert(0, &["applied: 2 added"]);
    assert!(way.forwards(0x100) && way.forwards(0x200));
    if let Some(file) = module {
        guest::load_module(&fs::read(file).unwrap(), "").unwrap();
    }
    let before = filters(way.left());
    run("apply").assert(0, &["already applied, 2 jobs in the kernel"]);
    assert_eq!(filters(way.left()), before);

    // Counters of a route that stays continue.
    way.write("way.toml", &gateway(&["200", "300"]));
    let changes = ["~   route \"r200\"", "+   route \"r300\"", "-   route \"r100\""];
    run("plan").assert(0, &changes);
    run("apply").assert(0, &[&changes[..], &["applied: 1 added, 1 changed, 1 removed, 0 unchanged"]].concat());
    assert!(!way.forwards(0x100) && way.forwards(0x200) && way.forwards(0x300));
    assert_eq!((way.handled("r200"), way.handled("r300")), (Some(2), Some(1)));

    // Others do not take them away.
    let other = way.write("other.toml", &gateway(&["400"]));
    let busy = ["already runs eBPF programs on t-left", "way.toml"];
    way.place.candor(&["run", &other]).assert(2, &busy);
    way.place.candor(&["apply", &other]).assert(2, &busy);
    way.place.candor(&["run", &file]).assert(2, &["way.toml"]);
    let user = way.place.start(&gateway(&["500"]), "read-write");
    assert!(way.forwards(0x300) && way.forwards(0x500));
    user.end(Signal::Terminate);
    way.place.candor(&["down", &other]).assert(0, &["is not applied"]);
    assert!(way.forwards(0x300));

    run("down").assert(0, &["Removed 2 eBPF filters of ", "way.toml"]);
    assert!(!way.forwards(0x200));
    way.assert_clean();
}

#[test]
#[ignore = "runs in a guest"]
fn a_file_is_applied_to_both_kernel_sides() {
    let Some(way) = Way::new() else { return };
    let route = |id: &str, keys: &str| {
        route(&format!("r{id}"), "left", "right", &format!("frames = \"classic\"\nmatch = \"{id}\"\n{keys}"))
    };
    let gateway = LEFT_RIGHT.to_owned() + &route("100", "exclusive = true") + &route("200", "");
    let file = way.place.file("both.toml", &format!("engine = \"auto\"\n{gateway}"));
    way.place.candor(&["apply", &file]).assert(0, &["applied: 2 added"]);
    assert!(way.forwards(0x100) && way.forwards(0x200));
    assert_eq!((filters(way.left()).len(), way.place.jobs().len()), (1, 1));
    way.place.candor(&["status"]).assert(0, &["in an eBPF program"]);

    // A uid of another program: neither side changes.
    let foreign = way.place.jobs().into_iter().next().unwrap();
    let mut taken = CangwJob { uid: 0x77, ..foreign };
    taken.filter.id = 0x7AB;
    taken.modifications.set.id = Some(0x7AC);
    cangw::add(&mut Client::open().unwrap(), &taken).unwrap();
    let before = filters(way.left());
    let gateway = gateway.replace("match = \"100\"", "match = \"101\"") + "to-id = \"201\"\nuid = \"00000077\"\n";
    way.place.file("both.toml", &format!("engine = \"auto\"\n{gateway}"));
    way.place.candor(&["apply", &file]).assert(2, &["uid 00000077 of route \"r200\" is in use"]);
    assert_eq!(filters(way.left()), before);
    assert!(way.forwards(0x100) && !way.forwards(0x101));
    cangw::delete(&mut Client::open().unwrap(), &taken).unwrap();

    way.place.candor(&["down"]).assert(0, &["Removed 1 can-gw job and 1 eBPF filter of "]);
    way.assert_clean();
}

/// Programs for both formats, of which the last one to go takes the ingress along.
#[test]
#[ignore = "runs in a guest"]
fn programs_for_both_formats_go_together() {
    let Some(way) = Way::new() else { return };
    let both = LEFT_RIGHT.to_owned() + &route("both", "left", "right", "match = \"100\"");
    let file = way.write("both.toml", &both);
    way.place.candor(&["apply", &file]).assert(0, &["applied: 2 added"]);
    assert_eq!(filters(way.left()).len(), 2);
    assert!(way.forwards(0x100));
    way.place.candor(&["down"]).assert(0, &["Removed 2 eBPF filters of "]);
    way.assert_clean();
    // A killed gateway leaves as much.
    way.place.start(&both, "bpf").kill();
    way.place.candor(&["down"]).assert(0, &["Removed 2 eBPF filters of dead"]);
    way.assert_clean();
}

/// can-gw would forward the frame as well, of which a program only sends a copy.
#[test]
#[ignore = "runs in a guest"]
fn programs_do_not_double_jobs_of_others() {
    let Some(way) = Way::with(&[FEATURES, &[Feature::Cangw]].concat()) else { return };
    let file = way.write("way.toml", &gateway(&["100"]));
    let job = Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::exact(RawId(0x100)));
    let foreign = CangwJob::new(&job, way.left(), way.right.near);
    let mut client = Client::open().unwrap();
    cangw::add(&mut client, &foreign).unwrap();
    way.place.candor(&["plan", &file]).assert(0, &["would refuse", "route \"r100\""]);
    way.place.candor(&["apply", &file]).assert(2, &["route \"r100\"", "forwarded twice"]);
    way.assert_no_filters();
    cangw::delete(&mut client, &foreign).unwrap();
    way.place.candor(&["apply", &file]).assert(0, &["applied: 1 added"]);
    way.place.candor(&["down"]).assert(0, &["Removed 1 eBPF filter of "]);
    way.assert_clean();
}

#[test]
#[ignore = "runs in a guest"]
fn each_namespace_has_its_own_programs() {
    let Some(way) = Way::new() else { return };
    let elsewhere = Elsewhere::new();
    let file = way.write("way.toml", &gateway(&["100"]));
    let there = |arguments: &[&str]| way.place.candor(&elsewhere.arguments(arguments));
    there(&["apply", &file]).assert(0, &["applied: 1 added"]);
    there(&["plan", &file]).assert(0, &["no difference, 1 job in the kernel"]);
    way.assert_no_filters();
    way.place.candor(&["plan", &file]).assert(0, &["1 to add"]);
    assert!(!way.forwards(0x100));
    // A process there does not disturb one here, on interfaces of the same names.
    there(&["down"]).assert(0, &["Removed 1 eBPF filter of "]);
    let far = Candor::spawn(
        way.place.command(&elsewhere.arguments(&["run", &file, "--json", "--seccomp"])).stdin(Stdio::null()),
        "",
    )
    .ready();
    let near = way.start(&["100"]);
    assert!(way.forwards(0x100));
    far.end(Signal::Terminate);
    assert!(way.forwards(0x100));
    near.end(Signal::Terminate);
    way.assert_clean();
}

/// Without its record, nobody knows the file, and the programs are those of a dead candor.
#[test]
#[ignore = "runs in a guest"]
fn applied_programs_without_a_record_are_taken_over() {
    let Some(way) = Way::new() else { return };
    let file = way.write("way.toml", &gateway(&["100"]));
    for engine in ["bpf", "down"] {
        way.place.candor(&["apply", &file]).assert(0, &["applied: 1 added"]);
        for record in fs::read_dir(way.place.run_dir.path()).unwrap() {
            fs::remove_file(record.unwrap().path()).unwrap();
        }
        assert!(way.forwards(0x100));
        if engine == "down" {
            way.place.candor(&["down"]).assert(0, &["Removed 1 eBPF filter of dead"]);
        } else {
            let candor = way.start(&["100", "200"]);
            assert!(notices(&candor.before_ready)[0].contains("Found 1 eBPF filters on t-left of a candor that died"));
            assert!(way.forwards(0x100) && way.forwards(0x200));
            candor.end(Signal::Terminate);
        }
        assert!(!has_ingress(way.left()));
        way.assert_clean();
    }
    // An interface that comes back has none, as with can-gw.
    let mut way = way;
    way.place.candor(&["apply", &file]).assert(0, &["applied: 1 added"]);
    way.place.unplug("left");
    way.place.plug_in("left");
    way.sender = way.place.sender("left");
    assert!(!way.forwards(0x100));
    assert_eq!(way.handled("r100"), None);
    way.place.candor(&["apply", &file]).assert(0, &["applied: 1 added"]);
    assert!(way.forwards(0x100));
    way.place.candor(&["down"]).assert(0, &["Removed 1 eBPF filter of "]);
}
