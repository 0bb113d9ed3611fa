//! The figures of the papers become pages, from records that are measured once.

use std::fs;

use super::{Called, Lab};

#[test]
#[ignore = "boots guests"]
fn figures_are_measured_judged_and_documented() {
    let Some(lab) = Lab::find() else { return };
    let papers = |options: &[&str]| {
        // One figure from a plan, one from a command in a guest.
        let mut command =
            lab.command(&["papers", "2011-13-vcan", "2012-canid", "--quick", "--frames", "100", "--json"]);
        Called::of(command.args(["--out", &lab.at("out")]).args(options)).exits_with(0)
    };
    let first = papers(&[]);
    let claims = first.json();
    let claims = claims.as_array().unwrap();
    assert_eq!(claims.len(), 6);
    // Certain on any machine: user space is slower than the kernel, and each rule has a cost.
    assert_eq!((&claims[0]["figure"], &claims[0]["verdict"]), (&"2011-13-vcan".into(), &"holds".into()), "{claims:#?}");
    for claim in claims {
        assert_ne!(claim["verdict"], "not measured", "{claim:#}");
        assert_eq!(claim["ours"].as_array().unwrap().len(), 2, "{claim:#}");
    }
    let page = fs::read_to_string(lab.path("out/2011-13-vcan.html")).unwrap();
    assert!(page.contains("6.1-rt") && page.contains("<svg"), "{page}");
    let index = fs::read_to_string(lab.path("out/README.md")).unwrap();
    assert!(index.contains("6 claims") && index.contains("(2012-canid.html)"), "{index}");
    // No guest boots.
    assert_eq!(papers(&["--pages-only"]).stdout, first.stdout);
}
