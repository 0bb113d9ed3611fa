//! What the kernel refuses, and what is left of it.

use candor_io::guest;
use candor_netlink::cangw::CangwError;

use super::*;

/// Makes the module say that it allows more hops than it does, so that a job passes all checks and is refused by the
/// kernel itself. Stays for the life of the guest, and says the truth again afterwards.
fn lie_about_max_hops(text: &str) -> bool {
    const PARAMETERS: &str = "/sys/module/can_gw/parameters";
    let path = format!("{PARAMETERS}/max_hops");
    if std::fs::write(&path, text).is_err() {
        if let Err(error) = guest::mount("tmpfs", PARAMETERS) {
            skip(Feature::Root, &format!("there is no mounting over {PARAMETERS}: {error}"));
            return false;
        }
        std::fs::write(&path, text).unwrap();
    }
    true
}

#[test]
#[ignore = "runs in a guest"]
fn a_refused_job_in_the_middle_leaves_all_as_it_was() {
    let Some(_machine) = require(NEEDS) else { return };
    let truth = std::fs::read_to_string("/sys/module/can_gw/parameters/max_hops").unwrap();
    if truth.trim() != "1" {
        return skip(Feature::Cangw, "it is loaded with another max_hops than 1");
    }
    let place = Place::new();
    let foreign = place.foreign(0x555, 0x7FF);
    add(&foreign);
    let file = place.file("a.toml", &masked(&[0x100, 0x200, 0x300]));
    place.json(&["apply", &file]);
    [0x101, 0x201, 0x301].into_iter().for_each(|id| place.send(id));
    let before = place.jobs();

    // Added are, in this order, 400, then the one that is refused, then 100 again.
    let filters = ["100:C00007F0", "600:C00007F0", "400:C00007F0", "200:C00007F0", "300:C00007F0"];
    let routes: Vec<_> =
        filters.iter().map(|&filter| (filter, if filter.starts_with('6') { "hop-limit = 2" } else { "" })).collect();
    place.file("a.toml", &gateway(&routes));
    if !lie_about_max_hops("6\n") {
        return;
    }
    let refused = place.candor(&["apply", &file]);
    // While the lie stands, nothing seems wrong with the limit.
    assert!(refused.err.contains("no cause found"), "{refused:?}");
    std::fs::write("/sys/module/can_gw/parameters/max_hops", &truth).unwrap();
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("candor: nothing was changed; 1 job had been deleted"), "{refused:?}");
    assert!(refused.err.contains("cannot install a can-gw job of route \"r600:C00007F0\""), "{refused:?}");
    assert_eq!(ids(&place.jobs()), ids(&before), "the same jobs in the same order");
    assert_eq!(handled(&place.jobs()), [0, 1, 1, 0], "of one that was added again the counters are lost");

    // What is known of them is what was before, too.
    place.file("a.toml", &masked(&[0x100, 0x200, 0x300]));
    assert_eq!(place.json(&["plan", &file])["equal"], true);
    let told = place.candor(&["apply", &place.file("b.toml", &gateway(&[("600", "hop-limit = 2")]))]);
    assert!(told.status == 2 && told.err.contains("max_hops=2"), "{told:?}");
    place.json(&["down"]);
    assert_eq!(place.jobs(), [foreign]);
    cangw::delete(&mut Client::open().unwrap(), &foreign).unwrap();
}

#[test]
#[ignore = "runs in a guest"]
fn routes_of_user_space_are_refused_with_their_reasons() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let text = "engine = \"auto\"\n".to_owned()
        + &gateway(&[("100", ""), ("200", "payload = \"01 ??\""), ("300", "send-as = \"fd\"")]);
    let refused = place.candor(&["apply", &place.file("a.toml", &text)]);
    assert_eq!((refused.status, place.jobs(), place.lists()), (2, Vec::new(), 0));
    assert!(refused.err.contains("route \"r200\" runs in user space, because can-gw cannot look at data bytes"));
    assert!(refused.err.contains("route \"r300\" runs in user space, because can-gw cannot change the format"));
    assert!(!refused.err.contains("r100") && refused.err.contains("candor run FILE"), "{refused:?}");
    // In a file of its own the other one can be applied, as the automatic engine would run it.
    let alone = "engine = \"auto\"\n".to_owned() + &gateway(&[("100", "")]);
    place.json(&["apply", &place.file("b.toml", &alone)]);
    assert_eq!(ids(&place.jobs()), [0x100]);
    place.json(&["down"]);
}

#[test]
#[ignore = "runs in a guest"]
fn without_the_right_nothing_is_written() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let file = place.file("a.toml", &masked(&[0x100]));
    std::fs::set_permissions(place.files.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let nobody = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.uid(65534).gid(65534);
        said(command)
    };
    let apply = nobody(&["apply", &file]);
    assert!(apply.status == 2 && apply.err.contains("CAP_NET_ADMIN in the initial user namespace"), "{apply:?}");
    // Nothing has been applied yet, but the folder is there and closed.
    std::fs::set_permissions(place.run_dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    for command in [["plan", &file], ["down", &file]] {
        let refused = nobody(&command);
        assert!(refused.status == 2 && refused.err.contains("sudo candor"), "{refused:?}");
    }
    assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
    // Where nothing was ever applied, everybody may compare.
    let mut command = place.command(&["plan", &file]);
    command.uid(65534).gid(65534).env("CANDOR_RUN_DIR", "/nowhere/candor");
    let compared = said(command);
    assert!(compared.status == 0 && compared.out.contains("1 to add, 0 unchanged"), "{compared:?}");
}

/// Root in a user namespace of its own is nobody to can-gw.
#[test]
#[ignore = "runs in a guest"]
fn root_in_a_user_namespace_is_told_what_it_lacks() {
    let Some(_machine) = require(&[NEEDS, &[Feature::UserNamespaces]].concat()) else { return };
    let place = Place::new();
    let file = place.file("a.toml", &masked(&[0x100]));
    let unshare = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user"]).args(arguments).env("CANDOR_RUN_DIR", place.run_dir.path());
        command.output()
    };
    for command in [["apply", &file], ["run", &file]] {
        let output = unshare(&[["--", "candor"], command].concat()).unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && err.contains("initial user namespace"), "{err}");
    }
    assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
}

/// The errnos that can be provoked, by the requests themselves.
#[test]
#[ignore = "runs in a guest"]
fn every_errno_has_its_meaning() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let mut client = Client::open().unwrap();
    let good = place.foreign(0x123, 0x7FF);
    let nobody = InterfaceIndex::new(0x7FFF_FFFF).unwrap();
    let loopback = candor_netlink::link::by_name(&mut client, "lo").unwrap().unwrap().index;
    let is_no_interface = |error: &CangwError| matches!(error, CangwError::NoSuchInterface);
    let is_invalid = |error: &CangwError| matches!(error, CangwError::InvalidJob);
    let mut refuses = |job: &CangwJob, is_it: fn(&CangwError) -> bool| {
        let error = cangw::add(&mut client, job).unwrap_err();
        assert!(is_it(&error), "{error:?} for {job:?}");
    };
    for job in [
        CangwJob { source: nobody, ..good },
        CangwJob { destination: nobody, ..good },
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
    let span = candor_core::rule::ChecksumSpan { from: 0, to: 8, result: 7 };
    let xor = Some(candor_core::rule::XorChecksum { span, init: 0 });
    refuses(&changes(CangwJob { checksums: Checksums { xor, crc8: None }, ..good }), is_invalid);
    // Jobs for FD frames have more positions, and an end of them too.
    let fd = CangwJob { flags: JobFlags::FD, ..good };
    let crc8 = |position| {
        let span = candor_core::rule::ChecksumSpan { from: 0, to: 0, result: position };
        let profile = candor_core::rule::Crc8Profile::None;
        let crc8 = candor_core::rule::Crc8Checksum { span, init: 0, final_xor: 0, table: [0; 256], profile };
        Checksums { xor: None, crc8: Some(crc8) }
    };
    refuses(&changes(CangwJob { checksums: crc8(8), ..good }), is_invalid);
    refuses(&changes(CangwJob { checksums: crc8(64), ..fd }), is_invalid);
    refuses(&changes(CangwJob { checksums: crc8(-65), ..fd }), is_invalid);
    let at_the_end = changes(CangwJob { checksums: crc8(63), ..fd });
    add(&at_the_end);
    cangw::delete(&mut Client::open().unwrap(), &at_the_end).unwrap();

    let first = changes(CangwJob { uid: 77, ..good });
    add(&first);
    refuses(&CangwJob { source: good.destination, destination: good.source, ..first }, is_invalid);
    let mut client = Client::open().unwrap();
    assert!(matches!(cangw::delete(&mut client, &good), Err(CangwError::NoSuchJob)));
    cangw::delete(&mut client, &first).unwrap();
    assert_eq!(place.jobs(), []);
}
