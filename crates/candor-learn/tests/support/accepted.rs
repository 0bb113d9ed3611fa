//! What was learned, as the reader of gateway files takes it.

use candor_config::{config, lower};
use candor_core::frame::{Frame, RawId};
use candor_core::ruleset::{Routed, RuleSet};
use candor_e2e::Protection;
use candor_learn::{Learned, written};

/// The lines for gateway files are valid; the check accepts all frames, and what is protected is explained.
pub(crate) fn must_be_accepted(learned: &Learned, payloads: &[Vec<u8>]) {
    let best = &learned.schemes[0];
    let written = written(best, &learned.counters).unwrap_or_else(|why| panic!("{why}: {best:?}"));
    let protection = Protection::new(&best.scheme).unwrap();
    for (line, is_check) in [(&written.check, true), (&written.protect, false)] {
        let text = format!(
            "engine = \"auto\"\n[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n\
             [[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"123\"\n{line}\n"
        );
        let plan = config::load(text.as_bytes()).unwrap_or_else(|findings| panic!("{line}\n{findings:#?}")).plan;
        let rules = RuleSet::compile(&lower(&plan), plan.buses().len());
        for payload in payloads {
            let id = RawId(0x123);
            let frame = if payload.len() > 8 { Frame::fd(id, 0, payload) } else { Frame::classic(id, payload) };
            let mut sent = None;
            rules.from_bus(plan.routes()[0].from).outcomes(&frame.unwrap(), |_, routed| {
                if let Routed::Send { frame, .. } = routed {
                    sent = Some(frame.payload().to_vec());
                }
            });
            let Some(sent) = sent else { panic!("{line} drops {payload:02X?}") };
            assert!(!is_check || sent == *payload);
            let mut again = sent.clone();
            assert!(
                protection.follow(&mut again) && again == sent,
                "{line} makes {sent:02X?} of {payload:02X?}: {best:?}"
            );
        }
    }
}
