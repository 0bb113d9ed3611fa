use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::{dbc, oracle};
use candor_core::frame::Frame;
use candor_core::job::RealtimeNs;

/// One message with a switch, and signals of several kinds.
const DATABASE: &[u8] = b"BO_ 291 M: 8 N
 SG_ Mode M : 0|4@1+ (1,0) [0|0] \"\" N
 SG_ Speed : 8|12@1+ (0.05,-10) [0|0] \"km/h\" N
 SG_ Angle : 23|10@0- (-0.25,3) [0|0] \"deg\" N
 SG_ Gear m2 : 40|4@1+ (1,0) [0|0] \"\" N
 SG_ Wide : 24|16@1- (1,0) [0|0] \"km/h\" N
VAL_ 291 Gear 0 \"PARK\" 1 \"DRIVE\" 2 \"Not active\" ;
BO_ 292 F: 8 N
 SG_ Half : 0|32@1- (2,0) [0|0] \"\" N
SIG_VALTYPE_ 292 Half : 1;
";

fn change(signal: &str, text: &str) -> Result<Change, ExpressionError> {
    let database = dbc::read(DATABASE);
    let (message, signal) = database.signal(signal).unwrap();
    Change::new(message, signal, text)
}

/// The value of the expression by the tree, with exact fractions, rounded and saturated by the oracle of the codec.
fn expected(signal: &str, text: &str, payload: &[u8]) -> Option<u64> {
    let database = dbc::read(DATABASE);
    let (message, signal) = database.signal(signal).unwrap();
    if !oracle::is_present(message, signal, payload) {
        return None;
    }
    let mut scope = Scope { message, signal, others: Vec::new() };
    let node = parse(text, &mut scope).unwrap();
    let others = scope.others;
    if others.iter().any(|other| !oracle::is_present(message, other, payload)) {
        return None;
    }
    let input = |number: usize| {
        let signal = if number == 0 { signal } else { others[number - 1] };
        oracle::physical(signal, oracle::raw(signal, oracle::get(signal, payload).unwrap())).unwrap()
    };
    let raw = oracle::encode(signal, node.exact(&input)?)?;
    Some(u64::try_from(raw & ((1 << signal.bits) - 1)).unwrap())
}

const TEXTS: [&str; 24] = [
    "x",
    "7",
    "-x",
    "x * 1.02 + 0.5",
    "x / 3",
    "2 * (x - 1) - x",
    "min(x, 40)",
    "max(x, -2.5, 3 * x - 10)",
    "clamp(x * 2, 0, 50)",
    "abs(x)",
    "abs(x - 20) / 7",
    "table(x, 0:0, 50:60, 100:100)",
    "table(-x, -100:3, 0:-3, 20:40)",
    "table(x, -2:-4, 2:4) * 1.5",
    "map(x, 0: 5, 10: x + 1, other: 3)",
    "map(x, 20: 5, 10: x + 1)",
    "map(clamp(x, 0, 1), 0: 7, 1: x)",
    "table(abs(x), 0:1, 30:5)",
    "min(x, 10) * max(2, 3)",
    "x * x / 50",
    "100 / x",
    "1 / (x - x)",
    "min(abs(x), abs(3 - 2 * x))",
    "map(x, 20: 5, 20: 6, 19.95: 7, other: -x)",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Lines over raw values are what the tree computes for each.
    #[test]
    fn lines_are_the_expression(
        text in select(TEXTS.as_slice()),
        signal in select(["M.Speed", "M.Angle", "M.Wide", "M.Mode"].as_slice()),
        payload in any::<[u8; 8]>(),
    ) {
        let change = change(signal, text).unwrap();
        prop_assert_eq!(change.bits(&payload), expected(signal, text, &payload));
    }

    #[test]
    fn other_signals_are_read(payload in any::<[u8; 8]>(), len in 0..=8usize) {
        for text in ["x + Speed", "Speed - 2 * Wide", "M.Speed / (Wide - Wide)", "max(x, Speed / 2)"] {
            let payload = &payload[..len];
            prop_assert_eq!(change("M.Wide", text).unwrap().bits(payload), expected("M.Wide", text, payload), "{}", text);
        }
        let text = "map(x, PARK: DRIVE, 'Not active': PARK, other: Mode)";
        prop_assert_eq!(change("M.Gear", text).unwrap().bits(&payload[..len]), expected("M.Gear", text, &payload[..len]));
    }

    /// Nothing but the signals changes, and all are computed from the received frame.
    #[test]
    fn frames_keep_everything_else(data in any::<[u8; 8]>(), len in 0..=8usize, id in select([291, 292, 0x123 | CAN_EFF_FLAG].as_slice())) {
        let both = vec![change("M.Speed", "Wide").unwrap(), change("M.Wide", "Speed").unwrap()];
        let computed = Changes::computed(vec![(RawId(291), both)]);
        let received = Frame::classic(RawId(id), &data[..len]).unwrap();
        let mut sent = received;
        computed.change_frame(RealtimeNs::UNKNOWN, &mut sent);
        let database = dbc::read(DATABASE);
        let mut wanted = data[..len].to_vec();
        if id == 291 {
            for (signal, text) in [("M.Speed", "Wide"), ("M.Wide", "Speed")] {
                if let Some(bits) = expected(signal, text, &data[..len]) {
                    wanted = oracle::set(database.signal(signal).unwrap().1, &wanted, bits).unwrap();
                }
            }
        }
        prop_assert_eq!(sent, Frame::classic(RawId(id), &wanted).unwrap());
    }
}

#[test]
fn constants_are_known() {
    let bits = |signal, text| match change(signal, text).unwrap().rule {
        Rule::Constant(bits, _) => Some(bits),
        _ => None,
    };
    assert_eq!(bits("M.Speed", "90 [km/h]"), Some(2000));
    assert_eq!(bits("M.Speed", "clamp(1e6, 0, 1e5)"), Some(4095), "saturated");
    assert_eq!(bits("M.Gear", "DRIVE"), Some(1));
    assert_eq!(bits("M.Gear", "'Not active'"), Some(2));
    assert_eq!(bits("M.Speed", "x - x + 5"), Some(300));
    assert_eq!(bits("M.Speed", "x"), None);
    // The bits that a short frame has, as and with or would set them.
    let changes = vec![change("M.Speed", "90").unwrap(), change("M.Mode", "3").unwrap()];
    assert!(changes.iter().all(|change| change.constant().is_some()));
    assert!(change("M.Gear", "DRIVE").unwrap().constant().is_none(), "multiplexed");
    let computed = Changes::computed(vec![(RawId(291), changes)]);
    let mut frame = Frame::classic(RawId(291), &[0xFF, 0x55]).unwrap();
    computed.change_frame(RealtimeNs::UNKNOWN, &mut frame);
    assert_eq!(frame, Frame::classic(RawId(291), &[0xF3, 0xD0]).unwrap());
}

#[test]
fn equal_changes_are_equal() {
    let of = |text| Changes::computed(vec![(RawId(291), vec![change("M.Speed", text).unwrap()])]);
    assert_eq!(of("x * 2"), of("x + x"));
    assert_ne!(of("x * 2"), of("x * 3"));
}

#[test]
fn floating_point_signals_are_computed_with_64_bits() {
    let change = change("F.Half", "clamp(x * 1.5, -100, 100)").unwrap();
    for (raw, becomes) in [(1.0_f32, 1.5_f32), (-0.5, -0.75), (1e9, 50.0), (f32::NEG_INFINITY, -50.0)] {
        assert_eq!(change.bits(&raw.to_bits().to_le_bytes()), Some(becomes.to_bits().into()), "{raw}");
    }
    let divided = self::change("F.Half", "x / 0").unwrap();
    assert_eq!(divided.bits(&1.0_f32.to_bits().to_le_bytes()), None);
}

#[test]
fn mistakes_name_their_place() {
    let wrong = |signal: &str, text: &str| {
        let error = change(signal, text).unwrap_err();
        (text[error.range.clone()].to_owned(), error.message, error.help)
    };
    let cases = [
        ("M.Speed", "x +", "", "missing"),
        ("M.Speed", "x 1", "1", "after the end"),
        ("M.Speed", "(x", "", "')'"),
        ("M.Speed", "y * 2", "y", "neither a signal of M nor a value of Speed"),
        ("M.Gear", "DIRVE", "DIRVE", "neither"),
        ("M.Speed", "x + 5 [mph]", "x + 5 [mph]", "km/h and mph"),
        ("M.Speed", "x + Angle", "x + Angle", "km/h and deg"),
        ("M.Speed", "Angle", "Angle", "The value is in deg, and the signal in km/h"),
        ("M.Speed", "sqrt(x)", "sqrt", "no function"),
        ("M.Speed", "clamp(x, 5, 1)", "5, 1", "lower limit"),
        ("M.Speed", "table(x, 5:1, 2:3)", ", 5:1, 2:3", "ascending"),
        ("M.Speed", "map(x, x: 1)", "x", "constant"),
        ("M.Speed", "1.2.3", "1.2.3", "decimal"),
        ("M.Speed", "", "", "missing"),
        ("M.Speed", "'Park", "'", "no end"),
        ("M.Speed", "x + 1 [km", "k", "no end"),
    ];
    for (signal, text, place, message) in cases {
        let found = wrong(signal, text);
        assert!(found.0 == place && found.1.contains(message) && !found.2.is_empty(), "{text:?}: {found:?}");
    }
    assert_eq!(wrong("M.Gear", "DIRVE").2, "did you mean DRIVE?");
    let long = vec!["x"; 1000].join(" + ");
    assert!(wrong("M.Speed", &long).1.contains("too long"));
    let deep = format!("{}x{}", "(".repeat(100), ")".repeat(100));
    assert!(wrong("M.Speed", &deep).1.contains("deeply"));
    assert!(wrong("M.Speed", &format!("{}x", "-".repeat(100))).1.contains("signs"));
}
