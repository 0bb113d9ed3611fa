//! Open-loop traffic: bursts and sustained load.

use super::Lab;

fn gateway(lab: &Lab, engine: &str, [from, to]: [&str; 2], id: &str) -> String {
    let text = format!(
        "engine = \"{engine}\"\n[bus.a]\ninterface = \"{from}\"\n[bus.b]\ninterface = \"{to}\"\n\
         [[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"{id}\"\n"
    );
    lab.write(&format!("{engine}-{id}.toml"), &text)
}

/// Two engines without loss, and a gateway that does not match the frames.
#[test]
#[ignore = "boots guests"]
fn frames_of_a_burst_cost_less_than_single_ones() {
    let Some(lab) = Lab::find() else { return };
    let files = [("kernel", "123"), ("mmap-mmap", "123"), ("read-write", "7FF")]
        .map(|(engine, id)| gateway(&lab, engine, ["vcan0", "vcan1"], id));
    let mut options = vec!["--testbed", "icount"];
    options.extend(files.iter().flat_map(|file| ["--copy", file.as_str()]));
    let mut command = vec!["candor-lab", "bursts", "--json", "--single", "--baselines", "--way", "vcan0:vcan1"];
    command.extend(["--sizes", "1,16", "--bursts", "5", "--warm-up", "2"]);
    command.extend(["kernel-123.toml", "mmap-mmap-123.toml", "read-write-7FF.toml"]);
    // The last gateway loses all frames.
    let measured = lab.run(&options, &command).exits_with(1).json();
    let gateways = measured["gateways"].as_array().unwrap();
    let engines: Vec<_> = gateways.iter().map(|one| one["engine"].as_str().unwrap()).collect();
    assert_eq!(engines, ["kernel", "mmap-mmap", "baseline of mmap-mmap", "read-write", "baseline of read-write"]);
    for (position, one) in gateways.iter().enumerate() {
        let figures = [&one["single"], &one["bursts"][0], &one["bursts"][1]];
        if position == 3 {
            assert!(figures.iter().all(|of| of["p50_ns"].is_null()), "{one:#}");
            assert_eq!(one["single"]["lost"], 5);
            continue;
        }
        let [single, alone, together] = figures.map(|of| of["p50_ns"].as_i64().unwrap());
        assert!(figures.iter().all(|of| of["lost"] == 0), "{one:#}");
        // Counted in instructions. A single frame pays for the wake-up alone.
        assert!(single > 1000 && together > 500 && (position == 0 || together < alone), "{one:#}");
    }
}

/// 2 virtual seconds; docs/engines.md has the command for ten minutes.
#[test]
#[ignore = "boots guests"]
fn gateway_sustains_half_a_bus() {
    let Some(lab) = Lab::find() else { return };
    let file = gateway(&lab, "mmap-adaptive", ["can2", "can3"], "123");
    let options = ["--testbed", "icount", "--topology", "kvaser", "--copy", &file];
    let mut command = vec!["candor-lab", "soak", "--json", "--way", "can0:can2:can3", "--time", "2s"];
    command.push("mmap-adaptive-123.toml");
    let soak = lab.run(&options, &command).exits_with(0).json();
    assert_eq!((&soak["fine"], &soak["growth_bytes"]), (&true.into(), &0.into()), "{soak:#}");
    assert!(soak["frames"].as_u64().unwrap() > 8000 && soak["left"] == soak["frames"], "{soak:#}");
}
