//! `--match`: the entries of `match` in a gateway file.

use std::fmt::Display;
use std::sync::Arc;

use candor_core::filter::{Filter, IdRange, Normalised};
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG};
use candor_signals::{Condition, Database};

use super::frame::Any;

const ERRORS: &str = "errors";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cmd) enum Wanted {
    Condition(Condition),
    Filter(Normalised),
    Range(IdRange),
}

impl Wanted {
    /// Reads an entry for a bus with these databases.
    ///
    /// # Errors
    /// What is wrong and what to do, without the text.
    pub(in crate::cmd) fn parse(text: &str, databases: &[Arc<Database>]) -> Result<Self, String> {
        if text == ERRORS {
            let errors = Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK };
            return Ok(Self::Filter(errors.normalise()));
        }
        if Condition::is_one(text) {
            let find = |name: &str| {
                let mut found = Err("There is no database for this name".to_owned());
                for database in databases {
                    found = found.or_else(|_why| database.signal(name).map_err(|why| why.to_string()));
                }
                found
            };
            return Condition::parse(text, find).map(Self::Condition).map_err(|wrong| mistake(&wrong, &wrong.help));
        }
        if text.contains(IdRange::DOTS) {
            return IdRange::parse(text).map(Self::Range).map_err(|wrong| mistake(&wrong, &wrong.kind.help()));
        }
        let of_message = databases.iter().find_map(|database| database.message(text).ok()?.id);
        match (Filter::parse(text).map(Filter::normalise), of_message) {
            (Ok(filter), Some(id)) if !filter.matches(id.raw()) => {
                Err(format!("This is a filter, and the name of message {id}; write {id} for the message"))
            }
            (Ok(filter), _) => Ok(Self::Filter(filter)),
            (Err(_), Some(id)) => Ok(Self::Filter(Filter::exact(id.raw()).normalise())),
            (Err(wrong), None) => {
                let why = databases.first().and_then(|database| database.message(text).err());
                let why = why.map(|why| why.to_string()).unwrap_or_else(|| wrong.to_string());
                Err(mistake(&why, "write a filter such as 123, or a message of a --database or the --config"))
            }
        }
    }

    pub(in crate::cmd) fn takes(&self, frame: &Any<'_>) -> bool {
        let id = frame.id();
        match self {
            Self::Condition(Condition { id: wanted, patterns }) => match frame {
                Any::Can(frame) => id == wanted.raw() && patterns.iter().any(|pattern| pattern.matches(frame)),
                Any::Xl(_) => false,
            },
            Self::Filter(filter) => filter.matches(id),
            Self::Range(range) => {
                let is_data = !id.is_rtr() && !id.is_err();
                is_data && id.is_eff() == range.is_extended && (range.first..=range.last).contains(&id.bits())
            }
        }
    }
}

fn mistake(what: &dyn Display, help: &str) -> String {
    format!("{what}; {help}").replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use candor_signals::dbc;

    use super::*;

    fn databases() -> Vec<Arc<Database>> {
        vec![Arc::new(dbc::read(include_bytes!("../../../../../examples/powertrain.dbc")))]
    }

    #[test]
    fn entries_select_frames() {
        for (text, taken, left) in [
            ("123", &["123#", "123##1AABB"][..], &["124#", "00000123#", "123#R", "20000004#00"][..]),
            ("120..1FF", &["120#", "1FF#11"], &["11F#", "200#", "00000120#", "120#R"]),
            ("100~700", &["200#", "200#R"], &["123#"]),
            ("ABS1", &["123#1122"], &["321#"]),
            ("ABS1.VehSpd > 50", &["123#138901"], &["123#138801", "123#13", "123#R8", "321#138901"]),
            ("TCU1.Gear == DRIVE && TCU1.Torque >= 0", &["321#030000"], &["321#020000", "321#030008"]),
            ("errors", &["20000004#0000000000000000"], &["123#"]),
        ] {
            let wanted = Wanted::parse(text, &databases()).unwrap();
            let takes = |frame: &&str| wanted.takes(&Any::Can(frame.parse().unwrap()));
            assert_eq!(taken.iter().find(|frame| !takes(frame)), None, "{text}");
            assert_eq!(left.iter().find(|frame| takes(frame)), None, "{text}");
        }
    }

    #[test]
    fn mistakes_say_what_to_do() {
        let said = |text, databases: &[Arc<Database>]| Wanted::parse(text, databases).unwrap_err();
        let all: Vec<_> = ["ABS", "ABS1.Speed > 1", "ABS1.VehSpd > x", "1FF..100", "ABS1.VehSpd"]
            .map(|text| format!("{text}: {}\n", said(text, &databases())))
            .into_iter()
            .chain(["ABS1", "ABS1.VehSpd > 50"].map(|text| format!("{text}, no database: {}\n", said(text, &[]))))
            .collect();
        insta::assert_snapshot!(all.concat());
    }

    #[test]
    fn names_of_any_database_of_the_bus_are_known() {
        let other = Arc::new(dbc::read(b"BO_ 5 Doors: 8 X\n SG_ Open : 0|1@1+ (1,0) [0|1] \"\" X\n"));
        let both = [vec![other], databases()].concat();
        for text in ["ABS1", "Doors", "ABS1.VehSpd > 50", "Doors.Open == 1"] {
            assert!(Wanted::parse(text, &both).is_ok(), "{text}");
        }
    }
}
