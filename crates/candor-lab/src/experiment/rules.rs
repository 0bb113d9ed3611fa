//! Rules of a gateway, as a gateway file for its interfaces.

use std::fmt::{self, Write as _};

use candor_config::engine::Engine;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK, Frame};

/// Routes between the buses `first` and `second`; the testbed adds their interfaces.
#[derive(Clone, PartialEq, Eq)]
pub struct Rules {
    /// `[[route]]` tables of a gateway file. `{echo}` stands for the setting that the testbed needs, `{match}` for a
    /// filter that matches only the sent frame, of the kind of the decoys.
    pub routes: String,
    /// Additional routes that never match.
    pub decoys: Option<Decoys>,
    /// A DBC file for both buses.
    pub database: Option<String>,
}

/// The name of the file with the database, beside the gateway file.
pub const DATABASE: &str = "signals.dbc";

/// Routes for identifiers that are not sent, in the format of the frame. They come first in the file, so that the
/// matching route is tried last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Decoys {
    pub count: u32,
    /// Number of masks that they use in turn, so that the kernel does not find them by a table; 0: without a mask.
    pub masks: u32,
    /// For classic frames only, which is one job of the kernel instead of two.
    pub classic_only: bool,
}

/// Masks for 29-bit identifiers. All compare the format and bit 28, in which decoys differ from the sent frame.
const MASKS: [u32; MOST_MASKS as usize] =
    [0x9FFF_FFFF, 0x9FFF_F000, 0x9FFF_00FF, 0x9F00_FFFF, 0x9FFF_FFF0, 0x9FF0_FFFF, 0x9FFF_0FFF, 0x900F_FFFF];
pub(super) const MOST_MASKS: u32 = 8;
const TOP_BIT: u32 = 0x1000_0000;

/// Number of 11-bit identifiers other than the sent one.
pub(super) const MOST_SFF_DECOYS: u32 = CAN_SFF_MASK;
/// The most jobs of a gateway file.
pub(super) const MOST_DECOYS: u32 = 16_384;

impl Rules {
    /// Forwards all frames from one bus to the other.
    pub fn all() -> Self {
        let routes = "[[route]]\nname = \"all\"\nfrom = \"first\"\nto = \"second\"\necho = {echo}\n".to_owned();
        Self { routes, decoys: None, database: None }
    }

    /// The last route takes its frames away from other programs.
    pub(super) fn exclusive(mut self) -> Self {
        self.routes.push_str("exclusive = true\n");
        self
    }

    /// Forwards only the sent frame.
    pub(super) fn one(decoys: Decoys) -> Self {
        let routes =
            "[[route]]\nname = \"one\"\nfrom = \"first\"\nto = \"second\"\nmatch = \"{match}\"\necho = {echo}\n";
        Self { routes: routes.to_owned() + decoys.frames(), decoys: Some(decoys), database: None }
    }

    pub fn gateway_file(&self, engine: Engine, (from, to): (&str, &str), echo: bool, frame: &Frame) -> String {
        let mut text = format!(
            "engine = \"{}\"\n[bus.first]\ninterface = \"{from}\"\n[bus.second]\ninterface = \"{to}\"\n",
            engine.name()
        );
        if self.database.is_some() {
            write!(text, "[database]\nfirst = \"{DATABASE}\"\nsecond = \"{DATABASE}\"\n")
                .expect("writing to a String cannot fail");
        }
        let decoys = self.decoys.iter().flat_map(|decoys| decoys.filters(frame));
        let decoys = match engine {
            // One route: a program has few steps, of any number of filters.
            Engine::Bpf => {
                let filters: Vec<_> = decoys.collect();
                if filters.is_empty() { Vec::new() } else { vec![filters.join("\",\n\"")] }
            }
            _ => decoys.collect(),
        };
        for (number, filter) in decoys.into_iter().enumerate() {
            write!(
                text,
                "[[route]]\nname = \"decoy-{number}\"\nfrom = \"first\"\nto = \"second\"\nmatch = [\"{filter}\"]\necho = {echo}\n{}",
                self.decoys.map_or("", Decoys::frames)
            )
            .expect("writing to a String cannot fail");
        }
        let mask = self.decoys.is_some_and(|decoys| decoys.masks > 0).then_some(MASKS[0]);
        let routes = self.routes.replace("{echo}", if echo { "true" } else { "false" });
        text.push_str(&routes.replace("{match}", &filter(frame.id.0, mask)));
        text
    }
}

impl fmt::Debug for Rules {
    /// As that of [`Decoys`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Rules");
        text.field("routes", &self.routes).field("decoys", &self.decoys);
        if let Some(database) = &self.database {
            text.field("database", database);
        }
        text.finish()
    }
}

impl Decoys {
    /// Filters for other identifiers than the frame's.
    fn filters(self, frame: &Frame) -> impl Iterator<Item = String> {
        let sent = frame.id.0;
        let first = if sent & CAN_EFF_FLAG != 0 { CAN_EFF_FLAG | TOP_BIT } else { 0 };
        let ids = (first..).filter(move |id| *id != sent).take(self.count as usize).zip(0u32..);
        ids.map(move |(id, number)| match self.masks {
            0 => filter(id, None),
            1 => filter(id, Some(MASKS[0])),
            masks => {
                // An odd multiplier spreads the numbers.
                let spread = number.wrapping_mul(0x9E37_79B1) & (CAN_EFF_MASK ^ TOP_BIT);
                filter(CAN_EFF_FLAG | !sent & TOP_BIT | spread, Some(MASKS[(number % masks) as usize]))
            }
        })
    }

    /// The format in a route.
    const fn frames(self) -> &'static str {
        if self.classic_only { "frames = \"classic\"\n" } else { "" }
    }
}

impl fmt::Debug for Decoys {
    /// Names of cells are hashes of this: later keys appear only if set, so that older results remain valid.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Decoys");
        text.field("count", &self.count).field("masked", &(self.masks > 0));
        if self.masks > 1 {
            text.field("masks", &self.masks);
        }
        if self.classic_only {
            text.field("classic_only", &true);
        }
        text.finish()
    }
}

fn filter(id: u32, mask: Option<u32>) -> String {
    match (id & CAN_EFF_FLAG != 0, mask) {
        (true, None) => format!("{:08X}", id & !CAN_EFF_FLAG),
        (false, None) => format!("{id:03X}"),
        // Bit 30 (remote frames) is not compared, which no table of the kernel has.
        (true, Some(mask)) => format!("{:08X}:{mask:08X}", id & mask),
        // Three digits, for eight are an identifier of 29 bits.
        (false, Some(_)) => format!("{id:03X}:800007FF"),
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
            for masks in [0, 1, 8] {
                if masks > 1 && frame.id.0 & CAN_EFF_FLAG == 0 {
                    continue;
                }
                let rules = Rules::one(Decoys { count: 300, masks, classic_only: masks == 8 });
                for engine in [Engine::Kernel, Engine::named("read-write").unwrap()] {
                    let file = rules.gateway_file(engine, ("can2", "can3"), true, &frame);
                    let loaded = config::load(file.as_bytes()).unwrap_or_else(|wrong| panic!("{file}: {wrong:?}"));
                    assert_eq!(loaded.plan.routes().len(), 301);
                    // Decoys overlap only if they have several masks.
                    assert!(
                        masks > 1 || !loaded.warnings.iter().any(|warning| warning.code == "W0601"),
                        "{:?}",
                        loaded.warnings
                    );
                }
            }
        }
    }

    #[test]
    fn sent_frame_passes_once_despite_decoys() {
        for (sent, masks) in
            [("123#0011", 0), ("123#0011", 1), ("1234ABCD#0011", 0), ("1234ABCD#0011", 1), ("1234ABCD#0011", 8)]
        {
            let frame: Frame = sent.parse().unwrap();
            let rules = Rules::one(Decoys { count: 100, masks, classic_only: masks == 8 });
            let file = rules.gateway_file(Engine::Kernel, ("can2", "can3"), true, &frame);
            let jobs = lower(&config::load(file.as_bytes()).unwrap().plan);
            let of_format = |job: &&Job| job.format == FrameFormat::Classic && job.filter.normalise().matches(frame.id);
            assert_eq!(jobs.iter().filter(of_format).count(), 1, "{sent} {masks}");
            // A route for both formats is two jobs.
            assert_eq!(jobs.len(), if masks == 8 { 101 } else { 202 });
            // The kernel walks masked filters, and finds others by a table.
            let is_walked = |job: &Job| job.filter.normalise().list == ReceiveList::Masked;
            assert!(jobs.iter().all(|job| is_walked(job) == (masks > 0)), "{sent} {masks}");
        }
    }

    #[test]
    fn decoys_do_not_match_the_sent_frame() {
        for frame in ["123#", "10000007#"] {
            let frame: Frame = frame.parse().unwrap();
            let filters: Vec<_> = Decoys { count: 1000, masks: 0, classic_only: false }.filters(&frame).collect();
            let sent = frame.to_string();
            assert!(filters.len() == 1000 && !filters.iter().any(|filter| sent.starts_with(filter.as_str())));
        }
    }

    #[test]
    fn names_of_cells_show_only_the_keys_that_are_set() {
        let decoys = |masks, classic_only| format!("{:?}", Decoys { count: 5, masks, classic_only });
        assert_eq!(decoys(0, false), "Decoys { count: 5, masked: false }");
        assert_eq!(decoys(1, false), "Decoys { count: 5, masked: true }");
        assert_eq!(decoys(8, true), "Decoys { count: 5, masked: true, masks: 8, classic_only: true }");
    }
}
