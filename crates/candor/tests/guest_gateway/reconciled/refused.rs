//! Jobs that the kernel refuses, and what remains of them.

use candor_core::rule::{ChecksumSpan, Crc8Checksum, Crc8Profile, XorChecksum};
use candor_io::guest;
use candor_netlink::cangw::CangwError;

use super::*;

/// Mounts a file with another `max_hops` over that of the module, so that a job passes all checks and the kernel refuses it.
fn fake_max_hops(text: &str) -> bool {
    const PARAMETERS: &str = "/sys/module/can_gw/parameters";
    let path = format!("{PARAMETERS}/max_hops");
    if fs::write(&path, text).is_err() {
        if let Err(error) = guest::mount("tmpfs", PARAMETERS) {
            skip(Feature::Root, &format!("cannot mount over {PARAMETERS}: {error}"));
            return false;
        }
        fs::write(&path, text).unwrap();
    }
    true
}

#[test]
#[ignore = "runs in a guest"]
fn a_refused_job_rolls_everything_back() {
    let Some(place) = scene() else { return };
    let truth = fs::read_to_string("/sys/module/can_gw/parameters/max_hops").unwrap();
    if truth.trim() != "1" {
        return skip(Feature::Cangw, "max_hops of the module is not 1");
    }
    let foreign = place.foreign(0x555, 0x7FF);
    add(&foreign);
    let file = place.file("a.toml", &masked(&[0x100, 0x200, 0x300]));
    place.json(&["apply", &file]);
    [0x101, 0x201, 0x301].into_iter().for_each(|id| place.send(id));
    let before = place.jobs();

    // Added in this order: 400, the refused one, and 100 again.
    let filters = ["100:C00007F0", "600:C00007F0", "400:C00007F0", "200:C00007F0", "300:C00007F0"];
    let routes: Vec<_> =
        filters.iter().map(|&filter| (filter, if filter.starts_with('6') { "hop-limit = 2" } else { "" })).collect();
    place.file("a.toml", &gateway(&routes));
    if !fake_max_hops("6\n") {
        return;
    }
    let refused = place.candor(&["apply", &file]);
    // With the fake file the limit looks valid.
    assert!(refused.err.contains("no cause found"), "{refused:?}");
    fs::write("/sys/module/can_gw/parameters/max_hops", &truth).unwrap();
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("candor: nothing was changed; 1 job had been deleted"), "{refused:?}");
    assert!(refused.err.contains("cannot install a can-gw job of route \"r600:C00007F0\""), "{refused:?}");
    assert_eq!(ids(&place.jobs()), ids(&before), "the same jobs in the same order");
    assert_eq!(handled(&place.jobs()), [0, 1, 1, 0], "a job that was added again has lost its counters");

    // The job list is restored too.
    place.file("a.toml", &masked(&[0x100, 0x200, 0x300]));
    assert_eq!(place.json(&["plan", &file])["equal"], true);
    place.candor(&["apply", &place.file("b.toml", &gateway(&[("600", "hop-limit = 2")]))]).assert(2, &["max_hops=2"]);
    place.json(&["down"]);
    assert_eq!(place.jobs(), [foreign]);
    delete(&foreign);
}

#[test]
#[ignore = "runs in a guest"]
fn refuses_user_space_routes_with_their_reasons() {
    let Some(place) = scene() else { return };
    let text = "engine = \"auto\"\n".to_owned()
        + &gateway(&[
            ("100", "echo = true"),
            ("200", "payload = \"01 ??\"\necho = true"),
            ("300", "send-as = \"fd\"\necho = true"),
        ]);
    let refused = place.candor(&["apply", &place.file("a.toml", &text)]);
    place.assert_clean();
    let reasons = [
        "route \"r200\" runs in user space, because can-gw cannot match payloads",
        "route \"r300\" runs in user space, because can-gw cannot convert frame formats",
        "candor run FILE",
    ];
    refused.assert(2, &reasons);
    assert!(!refused.err.contains("r100"), "{refused:?}");
    // The first route alone can be applied, because `auto` runs it in the kernel.
    let alone = "engine = \"auto\"\n".to_owned() + &gateway(&[("100", "")]);
    place.json(&["apply", &place.file("b.toml", &alone)]);
    assert_eq!(ids(&place.jobs()), [0x100]);
    place.json(&["down"]);
}

#[test]
#[ignore = "runs in a guest"]
fn writes_nothing_without_privileges() {
    let Some(place) = scene() else { return };
    let file = place.file("a.toml", &masked(&[0x100]));
    fs::set_permissions(place.files.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    place.candor_as_nobody(&["apply", &file]).assert(2, &["CAP_NET_ADMIN in the initial user namespace"]);
    // The directory exists, and only root may read it.
    fs::set_permissions(place.run_dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    for command in [["plan", &file], ["down", &file]] {
        place.candor_as_nobody(&command).assert(2, &["sudo candor"]);
    }
    place.assert_clean();
    // Without that directory, any user may plan.
    let mut command = place.command(&["plan", &file]);
    command.uid(NOBODY).gid(NOBODY).env("CANDOR_RUN_DIR", "/nowhere/candor");
    output(&mut command).assert(0, &["1 to add, 0 unchanged"]);
}

/// can-gw needs a capability in the initial user namespace.
#[test]
#[ignore = "runs in a guest"]
fn reports_a_missing_capability_in_a_user_namespace() {
    if !is_there(Feature::UserNamespaces) {
        return;
    }
    let Some(place) = scene() else { return };
    let file = place.file("a.toml", &masked(&[0x100]));
    for command in ["apply", "run"] {
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--", "candor", command, &file]);
        output(unshare.env("CANDOR_RUN_DIR", place.run_dir.path())).assert(2, &["initial user namespace"]);
    }
    place.assert_clean();
}

#[test]
#[ignore = "runs in a guest"]
fn every_errno_has_its_meaning() {
    let Some(place) = scene() else { return };
    let mut client = Client::open().unwrap();
    let good = place.foreign(0x123, 0x7FF);
    let missing = InterfaceIndex::new(0x7FFF_FFFF).unwrap();
    let loopback = link::by_name(&mut client, "lo").unwrap().unwrap().index;
    let is_no_interface = |error: &CangwError| matches!(error, CangwError::NoSuchInterface);
    let is_invalid = |error: &CangwError| matches!(error, CangwError::InvalidJob);
    let mut refuses = |job: &CangwJob, is_it: fn(&CangwError) -> bool| {
        let error = cangw::add(&mut client, job).unwrap_err();
        assert!(is_it(&error), "{error:?} for {job:?}");
    };
    for job in [
        CangwJob { source: missing, ..good },
        CangwJob { destination: missing, ..good },
        CangwJob { source: loopback, ..good },
        CangwJob { destination: loopback, ..good },
    ] {
        refuses(&job, is_no_interface);
    }
    refuses(&CangwJob { hop_limit: 7, ..good }, is_invalid);
    let changes = |job: CangwJob| {
        let mut job = job;
        job.modifications.set.len = Some(8);
        job
    };
    let span = ChecksumSpan { from: 0, to: 8, result: 7 };
    let xor = Some(XorChecksum { span, init: 0 });
    refuses(&changes(CangwJob { checksums: Checksums { xor, crc8: None }, ..good }), is_invalid);
    // Jobs for FD frames have more positions.
    let fd = CangwJob { flags: JobFlags::FD, ..good };
    let crc8 = |position| {
        let span = ChecksumSpan { from: 0, to: 0, result: position };
        let profile = Crc8Profile::None;
        let crc8 = Crc8Checksum { span, init: 0, final_xor: 0, table: [0; 256], profile };
        Checksums { xor: None, crc8: Some(crc8) }
    };
    refuses(&changes(CangwJob { checksums: crc8(8), ..good }), is_invalid);
    refuses(&changes(CangwJob { checksums: crc8(64), ..fd }), is_invalid);
    refuses(&changes(CangwJob { checksums: crc8(-65), ..fd }), is_invalid);
    let at_the_end = changes(CangwJob { checksums: crc8(63), ..fd });
    add(&at_the_end);
    delete(&at_the_end);

    let first = changes(CangwJob { uid: 77, ..good });
    add(&first);
    refuses(&CangwJob { source: good.destination, destination: good.source, ..first }, is_invalid);
    let mut client = Client::open().unwrap();
    assert!(matches!(cangw::delete(&mut client, &good), Err(CangwError::NoSuchJob)));
    cangw::delete(&mut client, &first).unwrap();
    assert_eq!(place.jobs(), []);
}
