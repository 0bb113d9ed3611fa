//! `--match`: the entries of `match` in a gateway file.

use std::sync::Arc;

use candor_core::filter::{Filter, IdRange, Normalised};
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG};
use candor_signals::{Condition, Database, FindError};

use super::frame::Any;

const ERRORS: &str = "errors";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Condition(Condition),
    Filter(Normalised),
    Range(IdRange),
}

impl Wanted {
    /// Reads an entry for a bus with these databases.
    ///
    /// # Errors
    /// What is wrong and what to do, without the text.
    pub(super) fn parse(text: &str, databases: &[Arc<Database>]) -> Result<Self, String> {
        if text == ERRORS {
            let errors = Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK };
            return Ok(Self::Filter(errors.normalise()));
        }
        if text.starts_with('@') {
            return Err("lists of a gateway file are not possible here; write identifiers".to_owned());
        }
        if Condition::is_one(text) {
            let parsed = Condition::parse(text, |name| first(databases, |database| database.signal(name)));
            return parsed.map(Self::Condition).map_err(|wrong| format!("{wrong}; {}", wrong.help));
        }
        if text.contains(IdRange::DOTS) {
            let parsed = IdRange::parse(text);
            return parsed.map(Self::Range).map_err(|wrong| format!("{wrong}; {}", wrong.kind.help()));
        }
        let message = first(databases, |database| database.message(text));
        match (Filter::parse(text), message) {
            (Ok(filter), found) => {
                let filter = filter.normalise();
                match found.ok().and_then(|message| message.id).filter(|id| !filter.matches(id.raw())) {
                    Some(id) => {
                        Err(format!("this is a filter, and the name of message {id}; write {id} for the message"))
                    }
                    None => Ok(Self::Filter(filter)),
                }
            }
            (Err(_), Ok(message)) => match message.id {
                Some(id) => Ok(Self::Filter(Filter::exact(id.raw()).normalise())),
                None => Err("this message has no identifier that a frame can have; correct the database".to_owned()),
            },
            (Err(wrong), Err(_)) if databases.is_empty() => {
                Err(format!("{wrong}; {}; names of messages need --database or --config", wrong.kind.help()))
            }
            (Err(_), Err(why)) => Err(format!("{why}; write a filter such as 123, or a message of the database")),
        }
    }

    pub(super) fn takes(&self, frame: &Any<'_>) -> bool {
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

/// What is in the only database that has it; the reason of the first one if none has.
fn first<'d, T>(
    databases: &'d [Arc<Database>],
    find: impl Fn(&'d Database) -> Result<T, FindError>,
) -> Result<T, String> {
    let mut found: Option<Result<T, String>> = None;
    for database in databases {
        match (find(database), &found) {
            (Ok(_), Some(Ok(_))) => return Err("several databases have this name".to_owned()),
            (Ok(one), _) => found = Some(Ok(one)),
            (Err(why), None) => found = Some(Err(why.to_string().replace(char::is_control, "?"))),
            (Err(_), Some(_)) => {}
        }
    }
    found.unwrap_or_else(|| Err("there is no database; name one with --database or --config".to_owned()))
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
        let all: Vec<_> = ["ABS", "ABS1.Speed > 1", "ABS1.VehSpd > x", "1FF..100", "@diagnosis", "ABS1.VehSpd"]
            .map(|text| format!("{text}: {}\n", said(text, &databases())))
            .into_iter()
            .chain(["ABS1", "ABS1.VehSpd > 50"].map(|text| format!("{text}, no database: {}\n", said(text, &[]))))
            .collect();
        insta::assert_snapshot!(all.concat());
    }

    #[test]
    fn several_databases_must_agree() {
        let twice = [databases(), databases()].concat();
        assert_eq!(
            Wanted::parse("ABS1", &twice),
            Err("several databases have this name; write a filter such as 123, or a \
            message of the database"
                .to_owned())
        );
        let other = Arc::new(dbc::read(b"BO_ 5 Doors: 8 X\n SG_ Open : 0|1@1+ (1,0) [0|1] \"\" X\n"));
        assert!(Wanted::parse("ABS1", &[vec![other], databases()].concat()).is_ok());
    }
}
