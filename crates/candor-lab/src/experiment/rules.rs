//! What a gateway is to do, as a gateway file for the interfaces that it is to run between.

use std::fmt::Write as _;

use candor_config::engine::Engine;
use candor_core::frame::{CAN_EFF_FLAG, CAN_SFF_MASK, Frame};

/// Routes between the buses `first` and `second`, which the plan leaves to the place where they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// `[[route]]` tables of a gateway file. `{echo}` stands for what the place needs to hear the frames, `{match}` for a filter
    /// that takes the frame which is sent and no other, of the kind of the decoys.
    pub routes: String,
    /// Further routes that never fire.
    pub decoys: Option<Decoys>,
}

/// Routes for identifiers that nobody sends, of the format of the frame that is sent. They stand in front of the others in the file,
/// and candor keeps the order of the file: the one that fires is looked at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoys {
    /// How many.
    pub count: u32,
    /// With a mask that keeps the kernel from finding them by a table.
    pub masked: bool,
}

/// Identifiers of 11 bits that there are for decoys, besides the one that is sent.
pub(super) const MOST_SFF_DECOYS: u32 = CAN_SFF_MASK;
/// As many as the kernel takes filters from a socket, and more than the papers had.
pub(super) const MOST_DECOYS: u32 = 4096;

impl Rules {
    /// Everything goes from one bus to the other.
    #[must_use]
    pub fn all() -> Self {
        let routes = "[[route]]\nname = \"all\"\nfrom = \"first\"\nto = \"second\"\necho = {echo}\n".to_owned();
        Self { routes, decoys: None }
    }

    /// The frame that is sent goes from one bus to the other, and no other does.
    #[must_use]
    pub(super) fn one(decoys: Decoys) -> Self {
        let routes =
            "[[route]]\nname = \"one\"\nfrom = \"first\"\nto = \"second\"\nmatch = \"{match}\"\necho = {echo}\n";
        Self { routes: routes.to_owned(), decoys: Some(decoys) }
    }

    /// The gateway file for this engine between these interfaces.
    #[must_use]
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
            .expect("a String takes everything");
        }
        let masked = self.decoys.is_some_and(|decoys| decoys.masked);
        let routes = self.routes.replace("{echo}", if echo { "true" } else { "false" });
        text.push_str(&routes.replace("{match}", &filter(frame.id.0, masked)));
        text
    }
}

impl Decoys {
    /// Filters for other identifiers than that of the frame.
    fn filters(self, frame: &Frame) -> impl Iterator<Item = String> {
        let sent = frame.id.0;
        let first = if sent & CAN_EFF_FLAG != 0 { CAN_EFF_FLAG | 0x1000_0000 } else { 0 };
        (first..).filter(move |id| *id != sent).take(self.count as usize).map(move |id| filter(id, self.masked))
    }
}

/// A filter for one identifier.
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
    fn gateway_files_are_gateways() {
        for frame in ["123#0011", "1234ABCD#0011", "000#0011"] {
            let frame: Frame = frame.parse().unwrap();
            for masked in [false, true] {
                let rules = Rules::one(Decoys { count: 300, masked });
                for engine in [Engine::Kernel, Engine::named("read-write").unwrap()] {
                    let file = rules.gateway_file(engine, ("can2", "can3"), true, &frame);
                    let loaded = config::load(file.as_bytes()).unwrap_or_else(|wrong| panic!("{file}: {wrong:?}"));
                    assert_eq!(loaded.plan.routes().len(), 301);
                    // No route takes what another takes, so there is nothing to warn of but the masks.
                    assert!(!loaded.warnings.iter().any(|warning| warning.code == "W0601"), "{:?}", loaded.warnings);
                }
            }
        }
    }

    #[test]
    fn the_frame_that_is_sent_passes_once_whatever_stands_beside_its_route() {
        for (sent, masked) in
            [("123#0011", false), ("123#0011", true), ("1234ABCD#0011", false), ("1234ABCD#0011", true)]
        {
            let frame: Frame = sent.parse().unwrap();
            let file =
                Rules::one(Decoys { count: 100, masked }).gateway_file(Engine::Kernel, ("can2", "can3"), true, &frame);
            let jobs = lower(&config::load(file.as_bytes()).unwrap().plan);
            let of_format = |job: &&Job| job.format == FrameFormat::Classic && job.filter.normalise().matches(frame.id);
            assert_eq!(jobs.iter().filter(of_format).count(), 1, "{sent} {masked}");
            // Masked ones are walked by the kernel, others are found by a table.
            let is_walked = |job: &Job| job.filter.normalise().list == ReceiveList::Masked;
            assert!(jobs.iter().all(|job| is_walked(job) == masked), "{sent} {masked}");
        }
    }

    #[test]
    fn no_decoy_takes_the_frame_that_is_sent() {
        for frame in ["123#", "10000007#"] {
            let frame: Frame = frame.parse().unwrap();
            let filters: Vec<_> = Decoys { count: 1000, masked: false }.filters(&frame).collect();
            let sent = frame.to_string();
            assert!(filters.len() == 1000 && !filters.iter().any(|filter| sent.starts_with(filter.as_str())));
        }
    }
}
