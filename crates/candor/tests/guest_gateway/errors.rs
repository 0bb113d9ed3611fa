//! Errors at the start: each cause has its own text, with the command that helps.

use candor_io::{guest, module};

use crate::kernel;
use crate::prelude::*;

const ENGINES: [&str; 2] = ["kernel", "read-write"];
const NOBODY: u32 = 65534;
const FRAME: &str = "123#010203";

fn gateway(right: &str, keys: &str) -> String {
    let keys = format!("echo = true\n{keys}");
    LEFT_RIGHT.replace("t-right", right) + &route("over", "left", "right", &keys)
}

fn scene(features: &[Feature]) -> Option<Scenario> {
    Scenario::new(features, ["left", "right"])
}

#[test]
#[ignore = "runs in a guest"]
fn a_missing_interface() {
    let Some(scene) = scene(VCAN_AND_CANGW) else { return };
    for engine in ENGINES {
        let not_found = |name: &str| format!("interface {name} (bus \"right\") not found");
        for (name, error, help) in [
            ("t-rihgt", not_found("t-rihgt"), "did you mean t-right?"),
            ("vcan77", not_found("vcan77"), "sudo ip link add dev vcan77 type vcan"),
            ("lo", "interface lo (bus \"right\") is not a CAN interface".to_owned(), ""),
        ] {
            scene.run(&gateway(name, ""), engine).fails().assert_refused(&[&error, help]);
        }
    }
    assert_eq!(scene.jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn a_missing_privilege() {
    let Some(scene) = scene(VCAN_AND_CANGW) else { return };
    let text = gateway("t-right", "");
    let run = |engine| Run { uid: Some(NOBODY), ..scene.run(&text, engine) };
    run("kernel").fails().assert_refused(&["CAP_NET_ADMIN", "--engine read-write"]);
    assert_eq!(scene.jobs(), []);
    // The engine that the error suggests runs.
    run("read-write").start().stop();
    // `auto` chooses it.
    runs_in_user_space(run("auto").start(), &scene, &["CAP_NET_ADMIN", "run candor as root"]);
    let only_kernel = gateway("t-right", "keep-timestamp = true");
    let ended = Run { uid: Some(NOBODY), ..scene.run(&only_kernel, "auto") }.fails();
    ended.assert_refused(&[
        "neither in the kernel",
        "CAP_NET_ADMIN",
        "nor in user space",
        "receive timestamp",
        "run it as root",
    ]);
    assert_eq!(scene.jobs(), []);
}

/// All routes are in user space, a notice gives this reason, and a frame passes.
fn runs_in_user_space(candor: Candor, scene: &Scenario, words: &[&str]) {
    let notice = notices(&candor.before_ready).into_iter().find(|text| text.contains("All routes run in user space"));
    let notice = notice.unwrap_or_else(|| panic!("{:?}", candor.before_ready));
    assert!(words.iter().all(|word| notice.contains(word)), "{notice}");
    assert_eq!(candor.before_ready.iter().filter(|event| event["side"] == "kernel").count(), 0);
    passes(scene);
    candor.stop();
}

#[track_caller]
fn passes(scene: &Scenario) {
    let listener = scene.listener("right");
    send(&scene.sender("left"), &FRAME.parse().unwrap());
    assert_eq!(listener.read(&mut [0; CANFD_MTU]).unwrap(), 16);
}

#[test]
#[ignore = "runs in a guest"]
fn a_missing_cangw_module() {
    let Some(scene) = scene(VCAN) else { return };
    let Ok(file) = unload_cangw() else { return };
    let text = gateway("t-right", "");
    let ended = scene.run(&text, "kernel").fails();
    runs_in_user_space(scene.start(&text, "auto"), &scene, &["not loaded", "sudo modprobe can-gw"]);
    let only_kernel = scene.run(&gateway("t-right", "hop-limit = 2"), "auto").fails();
    let words = ["neither in the kernel", "not loaded", "nor in user space", "hops", "sudo modprobe can-gw"];
    only_kernel.assert_refused(&words);
    if let Some(file) = file {
        guest::load_module(&fs::read(file).unwrap(), "").unwrap();
    }
    ended.assert_refused(&["module can-gw is not loaded", "sudo modprobe can-gw"]);
    assert!(!ended.errors.contains("CAP_NET_ADMIN"), "{}", ended.errors);
}

/// Unloads can-gw. Returns the file to load it from, or `None` if it was not loaded.
pub(crate) fn unload_cangw() -> Result<Option<PathBuf>, ()> {
    let is_loaded = fs::read_to_string("/proc/modules").unwrap_or_default().contains("can_gw ");
    if !is_loaded && !Path::new("/sys/module/can_gw").exists() {
        return Ok(None);
    }
    let Some(file) = kernel::cangw_file().filter(|_| is_there(Feature::Modules)) else { return Err(()) };
    module::unload("can_gw").unwrap();
    Ok(Some(file))
}

#[test]
#[ignore = "runs in a guest"]
fn an_interface_that_is_down() {
    let Some(scene) = scene(VCAN_AND_CANGW) else { return };
    for engine in ENGINES {
        scene.bus("right").set_down();
        let candor = scene.start(&gateway("t-right", ""), engine);
        let notices = notices(&candor.before_ready);
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].starts_with("Interface t-right is down"), "{notices:?}");
        assert!(notices[0].ends_with("sudo ip link set t-right up"), "{notices:?}");
        send(&scene.sender("left"), &FRAME.parse().unwrap());
        wait_until_dropped(&candor, &scene, engine);
        // Frames pass as soon as it is up, without a restart.
        scene.bus("right").set_up();
        passes(&scene);
        assert_eq!(candor.end(Signal::Terminate).counted("over")[..2], [1, 1], "{engine}");
    }
}

/// Waits until the frame has been dropped, which takes time on a busy machine: neither the kernel nor a thread does it within
/// `write()`.
fn wait_until_dropped(candor: &Candor, scene: &Scenario, engine: &str) {
    wait_until("the frame is dropped", || {
        if engine == "kernel" {
            return scene.jobs().iter().any(|job| job.counters.dropped == 1);
        }
        // candor gives the notice when it looks, and a new interface makes it look.
        let _nudge = Bus::new("nudge");
        candor.notice_now().is_some_and(|notice| notice.starts_with("Frames to t-right are dropped"))
    });
}

#[test]
#[ignore = "runs in a guest"]
fn reports_an_interface_that_goes_down_and_up() {
    let Some(scene) = scene(VCAN_AND_CANGW) else { return };
    for engine in ENGINES {
        let candor = scene.start(&gateway("t-right", ""), engine);
        scene.bus("right").set_down();
        assert!(candor.notice().starts_with("Interface t-right is down"));
        scene.bus("right").set_up();
        assert_eq!(candor.notice(), "Interface t-right is up again");
        candor.stop();
    }
}

#[test]
#[ignore = "runs in a guest"]
fn ignores_a_bus_without_routes() {
    let Some(scene) = scene(VCAN_AND_CANGW) else { return };
    let text = "[bus.unused]\ninterface = \"nosuch\"\n".to_owned() + &gateway("t-right", "");
    for engine in ENGINES {
        scene.start(&text, engine).stop();
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_hop_limit_beyond_that_of_the_module() {
    let Some(scene) = scene(VCAN_AND_CANGW) else { return };
    if kernel::max_hops() != 1 {
        return skip(Feature::Cangw, "max_hops of the module is not 1");
    }
    let text = gateway("t-right", "hop-limit = 2");
    for (engine, words) in [
        ("kernel", &["route \"over\" has hop limit 2", "max_hops=1", "modprobe can-gw max_hops=2"][..]),
        ("read-write", &["count hops", "engine = \"kernel\""]),
        ("auto", &["neither in the kernel", "max_hops=1", "nor in user space", "count hops", "max_hops=2"]),
    ] {
        scene.run(&text, engine).fails().assert_refused(words);
    }
    assert_eq!(scene.jobs(), []);
}
