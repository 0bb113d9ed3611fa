//! `[mode.NAME]` as written.

use super::TEXTS;
use candor_core::diagnostic::Findings;
use candor_core::document::Text;
use candor_core::document::entry::{Entry, entries};
use candor_core::document::keys::{Key, Named, Table, one_or_list, read};
use candor_core::keys;

const DURATION: Key = Key::new("a time with its unit, such as \"10min\"");
const FRAME: Key = Key::new("a frame as for cansend, such as \"7F0#0153\"");

keys! {
    /// `[mode.NAME]`, under its name.
    pub struct ModeSpec {}
    "for" => lasts: Option<Text> = DURATION
        .required("the time after which it is left, such as for = \"10min\"")
        .aliases(&["duration", "timeout"])
        .about("time after which the mode is left, 1 s to 24 h; entering it again begins the time again");
    "enter" => enter: Option<Table<ModeFrameSpec>> =
        Key::new("a table, such as { from = \"plug\", frame = \"7F0#0153\" }")
        .about("a frame that enters the mode")
        .default("`candor mode` only");
    "leave" => leave: Option<Table<ModeFrameSpec>> =
        Key::new("a table, such as { from = \"plug\", frame = \"7F0#00\" }")
        .about("a frame that leaves it")
        .default("`candor mode` or the end of the time");
    "announce" => announce: Option<Table<AnnounceSpec>> =
        Key::new("a table, such as { to = [\"plug\", \"car\"], frame = \"7F1#01\", every = \"1s\" }")
        .about("a frame that is sent while the mode lasts")
        .default("none, with a warning");

    /// `enter` and `leave`.
    pub struct ModeFrameSpec {}
    "from" => from: Option<Text> = Key::new("the name of a bus")
        .required("the bus on which it is received, such as from = \"plug\"")
        .about("the bus on which it is received");
    "frame" => frame: Option<Text> = FRAME
        .required("the frame as for cansend, such as frame = \"7F0#0153\"")
        .about("the data frame as for cansend, whose identifier, format, length and payload are compared");

    /// `announce`.
    pub struct AnnounceSpec {}
    "to" => to: Option<Vec<Text>> | one_or_list = Key::new("the name of a bus, or a list of them")
        .shape(TEXTS)
        .required("the buses that it is sent to, such as to = [\"plug\", \"car\"]")
        .about("the buses that it is sent to");
    "frame" => frame: Option<Text> = FRAME
        .required("the frame as for cansend, such as frame = \"7F1#01\"")
        .about("the frame, as for cansend; sent when the mode is entered, and then at the interval of `every`");
    "every" => every: Option<Text> = DURATION
        .about("its interval, 10 ms to 1 min")
        .default("`\"1s\"`");
    "at-end" => at_end: Option<Text> = FRAME
        .about("a frame that is sent once when the mode is left, also if the gateway ends")
        .default("none");
}

/// `[mode.NAME]`, in the order of the file.
pub(super) fn modes(into: &mut Vec<Named<ModeSpec>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    let before = into.len();
    for named in entries(table) {
        let Some(keys) = named.table("a table: [mode.NAME]", findings) else { continue };
        let name = named.name();
        let table = read::<ModeSpec>(keys, &name.span, ["A mode", "The mode"], findings);
        into.push(Named { name, table });
    }
    into.len() == before + table.len()
}
