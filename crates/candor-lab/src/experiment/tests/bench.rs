//! Testbeds other than guests.

use super::*;

const HOST: &str = include_str!("host.toml");

const SSH: &str = include_str!("ssh.toml");

#[test]
fn host_has_the_interfaces_of_its_bench() {
    let plan = plan(HOST);
    let bench = plan.bench.as_ref().unwrap();
    assert_eq!((bench.monitor.as_str(), bench.wire), ("can0", None));
    assert_eq!(bench.far(Testbed::Host, &Gateway::None), "can1");
    assert_eq!(
        (bench.far(Testbed::Ssh, &Gateway::None), bench.far(Testbed::Host, &Gateway::External)),
        ("can0", "can3")
    );
    let own = Bench { receive: "can2".to_owned(), ..bench.clone() };
    let hears_own = |bench: &Bench, testbed| bench.hears_own(testbed, &Gateway::External);
    assert!(!hears_own(bench, Testbed::Host) && hears_own(&own, Testbed::Host) && !hears_own(&own, Testbed::Ssh));
    assert!(!own.hears_own(Testbed::Host, &Gateway::None));
    assert_eq!(bench.gateway, Some(("can1".to_owned(), "can2".to_owned())));
    assert!(plan.cells().iter().all(|cell| cell.conditions.topology == Topology::Bench));
    // One each: an interruption loses only one.
    assert_eq!(plan.blocks().len(), 3);
    let plan = super::plan(SSH);
    let ssh = plan.ssh.as_ref().unwrap();
    assert_eq!((ssh.host.as_str(), ssh.options.join(" ").as_str(), ssh.sudo), ("root@board", "-p 2222", true));
    assert_eq!(plan.bench.unwrap().wire.unwrap().data.unwrap().bits_per_second(), 2_000_000);
}

#[test]
fn guests_and_host_fit_in_one_plan() {
    let text = HOST.replace("testbed = \"host\"", "testbed = [\"icount\", \"host\"]\ntopology = [\"vcan\", \"bench\"]");
    let excludes = "[[exclude]]\ntestbed = \"icount\"\ntopology = \"bench\"\n[[exclude]]\ntestbed = \"host\"\n\
                    topology = \"vcan\"\n[[exclude]]\ntestbed = \"icount\"\ngateway = \"external\"\n";
    let plan = plan(&(text.clone() + excludes));
    assert_eq!((plan.cells().len(), plan.blocks().len()), (5, 1 + 3));
    assert_eq!(findings(&text), [("P0403", "testbed".to_owned())]);
}

#[test]
fn bench_is_part_of_cell_names_except_for_guests() {
    let names = |text: &str| -> BTreeSet<String> {
        let plan = load(text.as_bytes(), Available::default()).unwrap().plan;
        plan.cells().iter().map(|cell| cell.name(&plan)).collect()
    };
    assert!(names(HOST).is_disjoint(&names(&HOST.replace("can3", "can9"))));
    assert!(names(SSH).is_disjoint(&names(&SSH.replace("@board", "@other"))));
    let guest = "[factor]\ngateway = \"kernel\"\n";
    assert_eq!(names(guest), names(&format!("{guest}[bench]\nsend = \"a\"\nreceive = \"b\"\n")));
}

#[test]
fn missing_parts_of_a_bench_are_reported_at_their_places() {
    let bench = "send = \"can0\"\nreceive = \"can3\"\nfrom = \"can1\"\nto = \"can2\"\n";
    for (text, found) in [
        (HOST.replace("[bench]", "[bensh]"), vec![("P0309", "testbed"), ("E0201", "bensh")]),
        (HOST.replace(&format!("[bench]\n{bench}"), ""), vec![("P0309", "testbed")]),
        (HOST.replace("from = \"can1\"\nto = \"can2\"\n", ""), vec![("P0309", "gateway")]),
        (HOST.replace("to = \"can2\"\n", ""), vec![("P0309", "bench")]),
        (HOST.replace("can2", "can1"), vec![("P0309", "\"can1\"")]),
        (HOST.replace("can3", "can0"), vec![("P0309", "\"can0\"")]),
        (HOST.replace("send = \"can0\"\n", ""), vec![("P0309", "bench")]),
        (HOST.replace("can3", "a/b"), vec![("E0303", "\"a/b\"")]),
        (HOST.replace("\"host\"", "\"host\"\nshift = 2"), vec![("P0403", "testbed")]),
        (HOST.replace("\"host\"", "\"host\"\nkernel = \"debian-6.1\""), vec![("P0403", "testbed")]),
        (HOST.replace("\"host\"", "\"host\"\ntopology = \"vcan\""), vec![("P0403", "testbed")]),
        (HOST.replace("\"host\"", "\"icount\"\ntopology = \"bench\""), vec![("P0403", "testbed")]),
        (HOST.replace("\"host\"", "\"icount\""), vec![("P0403", "gateway"), ("P0503", "bench")]),
        (SSH.replace("host = \"root@board\"\n", ""), vec![("P0309", "ssh")]),
        (SSH.replace("root@board", "-oProxyCommand=x"), vec![("P0309", "\"-oProxyCommand=x\"")]),
        (SSH.replace("wire-bitrate = \"500kbit/s\"\n", ""), vec![("P0309", "\"2Mbit/s\"")]),
        (SSH.replace("testbed = \"ssh\"", "testbed = \"host\""), vec![("P0503", "ssh")]),
        (SSH.replace("gateway = \"kernel\"", "gateway = \"external\""), vec![("P0403", "gateway")]),
    ] {
        let found: Vec<_> = found.into_iter().map(|(code, place)| (code, place.to_owned())).collect();
        assert_eq!(findings(&text), found, "{text}");
    }
}
