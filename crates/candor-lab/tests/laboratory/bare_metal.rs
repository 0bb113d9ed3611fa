//! A gateway without an operating system: its frames against the oracle, beside gateways on Linux, and alone.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use candor_core::frame::{CAN_EFF_FLAG, Frame, RawId};
use candor_core::job::{BusIndex, Job};
use candor_core::oracle;
use candor_core::random::SplitMix64;
use candor_lab::arch::Arch;
use candor_lab::bare_metal;
use candor_lab::cache::Cache;
use candor_lab::observer::Silent;
use candor_lab::qemu::Qemu;

use super::{Called, Lab, example};

const FRAMES: usize = 300;

/// Modifications and a checksum, and 512 masked rules of which some match.
fn gateway() -> String {
    let mut text = "[bus.first]\ninterface = \"can2\"\n[bus.second]\ninterface = \"can3\"\n".to_owned();
    let mut route = |name: &str, rest: &str| {
        writeln!(text, "[[route]]\nname = \"{name}\"\nfrom = \"first\"\nto = \"second\"\nframes = \"classic\"\n{rest}")
            .unwrap();
    };
    route("and", "match = \"100:700\"\nand = { id = \"7F0\", data = \"0F0F0F0F0F0F0F0F\" }");
    route(
        "set",
        "match = \"200:700\"\nset = { len = 8, data = \"0102030405060708\" }\nchecksum-xor = { from = 0, to = 6, result = 7, init = \"55\" }",
    );
    route("xor", "match = \"300:700\"\nxor = { data = \"FF00FF00FF00FF00\" }\nor = { id = \"00F\" }");
    for number in 0..512_u32 {
        let id = number << 19 | 0x155;
        route(&format!("masked-{number}"), &format!("match = \"{id:08X}:9FF800FF\""));
    }
    text
}

/// Data frames. The emulated controllers count the bytes of remote frames and lengths above 8 wrong.
fn frames() -> Vec<Frame> {
    let mut random = SplitMix64::new(7);
    (0..FRAMES)
        .map(|_| {
            let (id, data) = (random.next_u64(), random.next_u64().to_be_bytes());
            let low = u32::try_from(id & 0x1FFF_FFFF).unwrap();
            let id = match id >> 60 {
                0..8 => low & 0x7FF,
                _ => CAN_EFF_FLAG | low & 0x1FFF_FF00 | 0x55,
            };
            Frame::classic(RawId(id), &data[..usize::from(data[0] % 9)]).unwrap()
        })
        .collect()
}

#[test]
#[ignore = "boots guests"]
fn frames_without_an_operating_system_are_those_of_the_oracle() {
    let Some(lab) = Lab::find() else { return };
    let gateway = gateway();
    let plan = candor_config::config::load(gateway.as_bytes()).unwrap().plan;
    let jobs: Vec<Job> = candor_config::lower(&plan);
    let (mut log, mut expected) = (String::new(), Vec::new());
    for (number, frame) in frames().iter().enumerate() {
        writeln!(log, "(0.{:06}) can0 {frame}", number * 1000).unwrap();
        expected.extend(oracle::deliver(&jobs, BusIndex(0), frame).iter().map(|delivery| delivery.frame.to_string()));
    }
    let script = "candump -L can4 > out/heard & sleep 0.2\ncandor-lab bare-metal gateway.toml > out/said & gateway=$!\n\
                  until grep -q ready out/said; do sleep 0.1; done\ncanplayer -I log\nsleep 0.2\nkill $gateway && wait $gateway\n";
    let out = lab.at("out");
    let files =
        [("gateway.toml", &*gateway), ("log", &*log), ("script.sh", script)].map(|(name, text)| lab.write(name, text));
    let mut run = lab.command(&["run", "--testbed", "icount", "--topology", "kvaser", "--bare-metal", "--out", &out]);
    run.args(files.iter().flat_map(|file| ["--copy", file])).args(["--", "sh", "script.sh"]);
    Called::of(&mut run).exits_with(0);
    let heard = fs::read_to_string(lab.path("out/heard")).unwrap();
    let heard: Vec<_> = heard.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    assert!(expected.len() > FRAMES / 4, "the rules forward frames");
    assert_eq!(heard, expected);
    let said = fs::read_to_string(lab.path("out/said")).unwrap();
    let counters = format!("received {FRAMES} + 0, sent 0 + {}, deleted 0, dropped 0, overruns 0 + 0", expected.len());
    assert!(said.contains(&counters), "{said}");
}

/// The papers' row: 15 µs of RTEMS beside 49 µs of can-gw and 180 µs of read() and write().
#[test]
#[ignore = "boots guests"]
fn no_operating_system_is_faster_than_the_kernel_and_that_than_user_space() {
    let Some(lab) = Lab::find() else { return };
    let arguments = ["bench", "--topology", "kvaser", "--json", "--frames", "100", "--warm-up", "20", "--bare-metal"];
    let mut bench = lab.command(&[&arguments[..], &["--records", &lab.at("records")]].concat());
    let series = Called::of(bench.args(["kvaser-kernel", "kvaser-read-write"].map(example))).exits_with(0).json();
    let p50 = |index: usize| {
        assert_eq!((&series[index]["frames"], &series[index]["lost"]), (&100.into(), &0.into()), "{series:#}");
        series[index]["latency"]["p50_ns"].as_u64().unwrap()
    };
    // Both gateway files have the same rules.
    let [kernel, bare_metal, read_write] = [p50(0), p50(1), p50(2)];
    // 6 944, 9 710 and 16 682 when this was written, most of the first being the tester's.
    assert!(bare_metal * 5 / 4 < kernel && kernel * 5 / 4 < read_write, "{series:#}");
    let said = fs::read_to_string(lab.path("records/kvaser-kernel-bare-metal.gateway.txt")).unwrap();
    // The timer sends a leading frame before each.
    assert!(said.starts_with("received 240 + 0, sent 0 + 240, deleted 0, dropped 0, overruns 0 + 0"), "{said}");
}

#[test]
#[ignore = "boots guests"]
fn boots_alone_and_tests_itself() {
    let Some(lab) = Lab::find() else { return };
    let (_, program) = bare_metal::read(&lab.program).unwrap();
    fs::write(lab.path("program"), program).unwrap();
    let (qemu, first, environment) =
        Qemu::obtain(&Cache::of_user().unwrap(), Arch::X86_64, &mut Silent).unwrap().command();
    let mut command = Command::new(qemu);
    command.args(first).envs(environment);
    command.args(["-nodefaults", "-display", "none", "-m", "384", "-icount", "shift=0,sleep=off", "-serial", "stdio"]);
    command.args([
        "-device",
        "isa-debug-exit,iobase=0xf4,iosize=4",
        "-object",
        "can-bus,id=a",
        "-object",
        "can-bus,id=b",
    ]);
    command
        .args(["a", "a", "b", "b"].iter().flat_map(|bus| ["-device".to_owned(), format!("kvaser_pci,canbus={bus}")]));
    let output = command.arg("-kernel").arg(lab.path("program")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1000 frames received") && said.contains("all as they should be"), "{said}");
    assert_eq!(output.status.code(), Some(0x10 << 1 | 1), "{said}");
}

#[test]
fn other_guests_are_refused() {
    let Some(lab) = Lab::of_plain_build() else { return };
    for other in [&["--testbed", "icount"][..], &["--testbed", "icount", "--topology", "wire"], &[]] {
        let arguments = [&["run", "--bare-metal"], other, &["--", "true"]].concat();
        lab.call(&arguments).exits_with(2).reports("needs emulated cards");
    }
}
