use candor_core::frame::{Frame, RawId};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::{Database, dbc, oracle};

const DATABASE: &[u8] = b"BO_ 291 M: 8 N
 SG_ Mode M : 0|4@1+ (1,0) [0|0] \"\" N
 SG_ Speed : 8|12@1+ (0.05,-10) [0|0] \"km/h\" N
 SG_ Angle : 23|10@0- (-0.25,3) [0|0] \"deg\" N
 SG_ Gear m2 : 40|4@1+ (1,0) [0|0] \"\" N
 SG_ Small : 44|3@1- (1,0) [0|0] \"\" N
 SG_ One : 47|1@1+ (1,0) [0|0] \"\" N
VAL_ 291 Gear 0 \"PARK\" 1 \"DRIVE\" ;
BO_ 292 F: 8 N
 SG_ Half : 0|32@1- (1,0) [0|0] \"\" N
SIG_VALTYPE_ 292 Half : 1;
";

fn condition(database: &Database, text: &str) -> Result<Condition, ExpressionError> {
    Condition::parse(text, |name| database.signal(name).map_err(|wrong| wrong.to_string()))
}

fn matches(condition: &Condition, payload: &[u8]) -> bool {
    let frame = Frame::classic(RawId(291), payload).unwrap();
    condition.patterns.iter().any(|pattern| pattern.matches(&frame))
}

/// The physical value. `None` if the frame does not have the signal.
fn value(database: &Database, name: &str, payload: &[u8]) -> Option<Ratio> {
    let (message, signal) = database.signal(name).unwrap();
    let raw = oracle::raw(signal, oracle::get(signal, payload)?);
    oracle::is_present(message, signal, payload).then(|| oracle::physical(signal, raw).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Patterns match exactly the frames whose decoded value meets the comparison.
    #[test]
    fn patterns_are_the_comparison(
        signal in select(["M.Mode", "M.Speed", "M.Angle", "M.Gear", "M.Small", "M.One"].as_slice()),
        (sign, _) in select(COMPARISONS.as_slice()),
        value_of_other in any::<[u8; 8]>(),
        shift in select(["0", "0.01", "-1", "0.25"].as_slice()),
        payload in any::<[u8; 8]>(),
    ) {
        let database = dbc::read(DATABASE);
        // Often a value that the signal can have.
        let limit = value(&database, signal, &value_of_other).unwrap_or(Ratio::ONE);
        let limit = limit.checked_add(shift.parse().unwrap()).unwrap();
        let text = format!("{signal} {sign} {limit}");
        let holds = |payload: &[u8]| value(&database, signal, payload).is_some_and(|value| {
            let order = value.compare(limit);
            match sign {
                "=" | "==" => order.is_eq(),
                "!=" => order.is_ne(),
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            }
        });
        // Frames with every value of a small signal, and a random one.
        let mut payloads = vec![payload, value_of_other];
        payloads.extend((0..=255).map(|byte| { let mut payload = payload; payload[5] = byte; payload }));
        payloads.extend((0..=255).map(|byte| { let mut payload = payload; payload[0] = byte; payload }));
        match condition(&database, &text) {
            Ok(condition) => for payload in payloads {
                prop_assert_eq!(matches(&condition, &payload), holds(&payload), "{} {:?}", text, payload);
            },
            Err(error) if error.message.starts_with("No value") => {
                prop_assert!(!payloads.iter().any(|payload| holds(payload)), "{} {:?}", text, error);
            }
            Err(error) => {
                prop_assert!(error.message.starts_with("Every value"), "{} {:?}", text, error);
                prop_assert!(payloads.iter().all(|payload| holds(payload) || value(&database, signal, payload).is_none()));
            }
        }
    }

    #[test]
    fn several_must_hold_together(payload in any::<[u8; 8]>()) {
        let database = dbc::read(DATABASE);
        let all = condition(&database, "M.Mode >= 2 && M.Speed < 42.5 [km/h]&&M.Small != -1").unwrap();
        let [mode, speed, small] = ["M.Mode", "M.Speed", "M.Small"].map(|name| value(&database, name, &payload).unwrap());
        let wanted = mode.compare(Ratio::integer(2)).is_ge()
            && speed.compare("42.5".parse().unwrap()).is_lt()
            && small != Ratio::integer(-1);
        prop_assert_eq!(matches(&all, &payload), wanted);
    }
}

#[test]
fn names_of_values_are_compared() {
    let database = dbc::read(DATABASE);
    let driving = condition(&database, "M.Gear == DRIVE").unwrap();
    assert_eq!(driving.id.to_string(), "123");
    assert!(matches(&driving, &[2, 0, 0, 0, 0, 1, 0, 0]) && !matches(&driving, &[2, 0, 0, 0, 0, 2, 0, 0]));
    assert!(!matches(&driving, &[1, 0, 0, 0, 0, 1, 0, 0]), "another multiplexer");
    assert!(!matches(&driving, &[2, 0, 0, 0, 0]), "too short");
}

#[test]
fn mistakes_name_their_place() {
    let database = dbc::read(DATABASE);
    let cases = [
        ("M.Speed > ", "", "missing"),
        ("M.Speed > 5 [mph]", "5 [mph]", "in mph"),
        ("M.Sped > 5", "M.Sped > 5", "did you mean Speed?"),
        ("M.Speed > 5 && F.Half > 2", " F.Half > 2", "another message"),
        ("F.Half > 2", "F.Half > 2", "floating-point"),
        ("M.Speed > 1000", "M.Speed > 1000", "No value"),
        ("M.Speed == 0.01", "M.Speed == 0.01", "No value"),
        ("M.Speed < 1000", "M.Speed < 1000", "Every value"),
        ("M.Mode < 3 && M.Mode > 8", " M.Mode > 8", "No frame"),
        ("M.Speed > Mode", " Mode", "no constant"),
        ("M.Speed > Angle", "Angle", "in deg"),
        ("M.Speed > 5 && M.Mode", " M.Mode", "no comparison"),
        ("M.Gear == DRIVEN", "DRIVEN", "neither"),
    ];
    for (text, place, message) in cases {
        let error = condition(&database, text).unwrap_err();
        let found = &text[error.range.clone()];
        assert!(
            found == place && error.message.contains(message) && !error.help.is_empty(),
            "{text:?} {found:?}: {error:?}"
        );
    }
}
