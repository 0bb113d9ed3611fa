//! The figures of the papers become pages, from records that are measured once.

use std::fs;
use std::process::Command;

use super::{static_lab, text};

#[test]
#[ignore = "boots guests"]
fn figures_are_measured_judged_and_written_down() {
    let Some(lab) = static_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let papers = |options: &[&str]| {
        let mut command = Command::new(&lab);
        // One figure from a plan, one from a command in a guest.
        command.args(["papers", "2011-13-vcan", "2012-canid", "--quick", "--frames", "100", "--json", "--out"]);
        command.arg(folder.path()).args(options).output().unwrap()
    };
    let first = papers(&[]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let claims: serde_json::Value = serde_json::from_slice(&first.stdout).unwrap();
    let claims = claims.as_array().unwrap();
    assert_eq!(claims.len(), 6);
    // Certain on any machine: user space is slower than the kernel, and each rule has a cost.
    assert_eq!((&claims[0]["figure"], &claims[0]["verdict"]), (&"2011-13-vcan".into(), &"holds".into()), "{claims:#?}");
    for claim in claims {
        assert_ne!(claim["verdict"], "not measured", "{claim:#}");
        assert_eq!(claim["ours"].as_array().unwrap().len(), 2, "{claim:#}");
    }
    let page = fs::read_to_string(folder.path().join("2011-13-vcan.html")).unwrap();
    assert!(page.contains("6.1-rt") && page.contains("<svg"), "{page}");
    let index = fs::read_to_string(folder.path().join("README.md")).unwrap();
    assert!(index.contains("6 claims") && index.contains("(2012-canid.html)"), "{index}");
    // No guest boots.
    let again = papers(&["--pages-only"]);
    assert_eq!((again.status.code(), &again.stdout), (Some(0), &first.stdout), "{}", text(&again.stderr));
}
