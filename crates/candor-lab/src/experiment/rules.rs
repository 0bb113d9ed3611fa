//! Rules of a gateway, as a gateway file for its interfaces.

use std::fmt::Write as _;

use candor_config::engine::Engine;
use candor_core::frame::{CAN_EFF_FLAG, CAN_SFF_MASK, Frame};

/// Routes between the buses `first` and `second`; the testbed adds their interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// `[[route]]` tables of a gateway file. `{echo}` stands for the setting that the testbed needs, `{match}` for a
    /// filter that matches only the sent frame, of the kind of the decoys.
    pub routes: String,
    /// Additional routes that never match.
    pub decoys: Option<Decoys>,
}

/// Routes for identifiers that are not sent, in the format of the frame. They come first in the file, so that the
/// matching route is tried last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoys {
    pub count: u32,
    /// With a mask, so that the kernel does not find them by a table.
    pub masked: bool,
}

/// Number of 11-bit identifiers other than the sent one.
pub(super) const MOST_SFF_DECOYS: u32 = CAN_SFF_MASK;
/// The kernel's limit of filters per socket, and more than in the papers.
pub(super) const MOST_DECOYS: u32 = 4096;

impl Rules {
    /// Forwards all frames from one bus to the other.
    pub fn all() -> Self {
        let routes = "[[route]]\nname = \"all\"\nfrom = \"first\"\nto = \"second\"\necho = {echo}\n".to_owned();
        Self { routes, decoys: None }
    }

    /// Forwards only the sent frame.
    pub(super) fn one(decoys: Decoys) -> Self {
        let routes =
            "[[route]]\nname = \"one\"\nfrom = \"first\"\nto = \"second\"\nmatch = \"{match}\"\necho = {echo}\n";
        Self { routes: routes.to_owned(), decoys: Some(decoys) }
    }

    pub fn gateway_file(&self, engine: Engine, (from, to): (&str, &str), echo: bool, frame: &Frame) -> String {
        let mut text = format!(
            "engine = \"{}\"\n[bus.first]\ninterface = \"{from}\"\n[bus.second]\ninterface = \"{to}\"\n",
            engine.name()
        );
        let decoys = self.decoys.iter().flat_map(|decoys| decoys.filters(frame));
        for (number, filter) in decoys.enumerate() {
            writeln!(
                text,
                "[[route]]\nname = \"decoy-{number}\"\nfrom = \"first\"\nto = \"second\"\nmatch = \"{filter}\"\necho = {echo}"
            )
            .expect("writing to a String cannot fail");
        }
        let masked = self.decoys.is_some_and(|decoys| decoys.masked);
        let routes = self.routes.replace("{echo}", if echo { "true" } else { "false" });
        text.push_str(&routes.replace("{match}", &filter(frame.id.0, masked)));
        text
    }
}

impl Decoys {
    /// Filters for other identifiers than the frame's.
    fn filters(self, frame: &Frame) -> impl Iterator<Item = String> {
        let sent = frame.id.0;
        let first = if sent & CAN_EFF_FLAG != 0 { CAN_EFF_FLAG | 0x1000_0000 } else { 0 };
        (first..).filter(move |id| *id != sent).take(self.count as usize).map(move |id| filter(id, self.masked))
    }
}

fn filter(id: u32, masked: bool) -> String {
    match (id & CAN_EFF_FLAG != 0, masked) {
        (true, false) => format!("{:08X}", id & !CAN_EFF_FLAG),
        (false, false) => format!("{id:03X}"),
        // Bit 30 (remote frames) is not compared, which no table of the kernel has.
        (true, true) => format!("{id:08X}:9FFFFFFF"),
        // Three digits, for eight are an identifier of 29 bits.
        (false, true) => format!("{id:03X}:800007FF"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_config::config;
    use candor_config::lower;
    use candor_core::filter::ReceiveList;
    use candor_core::frame::FrameFormat;
    use candor_core::job::Job;

    #[test]
    fn gateway_files_are_valid() {
        for frame in ["123#0011", "1234ABCD#0011", "000#0011"] {
            let frame: Frame = frame.parse().unwrap();
            for masked in [false, true] {
                let rules = Rules::one(Decoys { count: 300, masked });
                for engine in [Engine::Kernel, Engine::named("read-write").unwrap()] {
                    let file = rules.gateway_file(engine, ("can2", "can3"), true, &frame);
                    let loaded = config::load(file.as_bytes()).unwrap_or_else(|wrong| panic!("{file}: {wrong:?}"));
                    assert_eq!(loaded.plan.routes().len(), 301);
                    // No two routes overlap, so there are no warnings but those about masks.
                    assert!(!loaded.warnings.iter().any(|warning| warning.code == "W0601"), "{:?}", loaded.warnings);
                }
            }
        }
    }

    #[test]
    fn sent_frame_passes_once_despite_decoys() {
        for (sent, masked) in
            [("123#0011", false), ("123#0011", true), ("1234ABCD#0011", false), ("1234ABCD#0011", true)]
        {
            let frame: Frame = sent.parse().unwrap();
            let file =
                Rules::one(Decoys { count: 100, masked }).gateway_file(Engine::Kernel, ("can2", "can3"), true, &frame);
            let jobs = lower(&config::load(file.as_bytes()).unwrap().plan);
            let of_format = |job: &&Job| job.format == FrameFormat::Classic && job.filter.normalise().matches(frame.id);
            assert_eq!(jobs.iter().filter(of_format).count(), 1, "{sent} {masked}");
            // The kernel walks masked filters, and finds others by a table.
            let is_walked = |job: &Job| job.filter.normalise().list == ReceiveList::Masked;
            assert!(jobs.iter().all(|job| is_walked(job) == masked), "{sent} {masked}");
        }
    }

    #[test]
    fn decoys_do_not_match_the_sent_frame() {
        for frame in ["123#", "10000007#"] {
            let frame: Frame = frame.parse().unwrap();
            let filters: Vec<_> = Decoys { count: 1000, masked: false }.filters(&frame).collect();
            let sent = frame.to_string();
            assert!(filters.len() == 1000 && !filters.iter().any(|filter| sent.starts_with(filter.as_str())));
        }
    }
}
