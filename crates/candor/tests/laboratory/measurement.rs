//! Figures repeat to the instruction, whatever else the host does.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{static_candor, text};

const GATEWAYS: [&str; 2] = ["kvaser-kernel", "kvaser-read-write"];

#[test]
fn two_measurements_are_equal_byte_for_byte_though_the_host_is_busy() {
    let Some(candor) = static_candor() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (idle, busy) = (folder.path().join("idle"), folder.path().join("busy"));
    measure(&candor, &idle);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        measure(&candor, &busy);
        stop.store(true, Ordering::Relaxed);
    });
    for gateway in GATEWAYS {
        let record = |folder: &Path| fs::read_to_string(folder.join(format!("{gateway}.record.csv"))).unwrap();
        assert_eq!(record(&idle), record(&busy), "{gateway}");
    }
}

fn measure(candor: &Path, records: &Path) {
    let file = |name: &str| format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(candor)
        .args(["lab", "measure", "--frames", "400", "--warm-up", "50"])
        .args(GATEWAYS.map(file))
        .arg("--records")
        .arg(records)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    for gateway in GATEWAYS {
        let row = table.lines().find(|line| line.contains(gateway)).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        // Border, gateway, unit, frames, lost.
        assert_eq!(cells[3..5], ["400", "0"], "{table}");
    }
}
