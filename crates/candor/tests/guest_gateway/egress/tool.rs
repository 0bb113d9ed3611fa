//! What the program tc makes is read as what it means.

use std::process::Command;

use candor_egress::discipline::Tbf;
use candor_egress::ematch::{CanRule, Ematch};

use super::*;

pub(super) fn tc(arguments: &str) -> Result<(), String> {
    let output = Command::new("tc").args(arguments.split(' ')).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
#[ignore = "runs in a guest"]
fn what_tc_makes_is_read_as_what_it_means() {
    let Some(_machine) = require(&[NEEDS, &[Feature::Tc]].concat()) else { return };
    let mut place = Place::new();
    for command in [
        "qdisc add dev t-near root handle 1: prio",
        "qdisc add dev t-near parent 1:3 handle 3: tbf rate 12800bit burst 60 limit 1600",
        "filter add dev t-near parent 1: protocol all prio 2 handle 7 fw classid 1:2",
    ] {
        tc(command).unwrap();
    }
    let tbf = Tbf { rate: ByteRate(1600), burst_bytes: 60, limit_bytes: 1600, peak: None };
    let below =
        Qdisc { handle: Handle::new(3, 0), parent: Handle::new(1, 3), stab: None, discipline: Discipline::Tbf(tbf) };
    let parent = Handle::new(1, 0);
    let fw = Filter {
        preference: 2,
        handle: 7,
        class: Some(Handle::new(1, 2)),
        ..filter(parent, Classifier::Fw { mask: None })
    };
    let mut expected = of(vec![prio(), below], vec![], vec![fw]);
    let canid = "filter add dev t-near parent 1: protocol all prio 1 basic match canid(sff 0x123) classid 1:1";
    match tc(canid) {
        Ok(()) => {
            let rule = CanRule { id: 0x123, mask: 0x7FF };
            expected.filters.insert(0, filter(parent, Classifier::Basic(Some(Ematch::Canid(vec![rule])))));
        }
        Err(error) => skip(Feature::Tc, &format!("it does not know canid: {error}")),
    }
    let found = place.observe();
    assert_eq!(differences(&expected, &found.tree), []);
    assert_eq!(found.bands.len(), 4, "{:?}", found.bands);
    place.clear();
}
