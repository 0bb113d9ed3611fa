//! The compiled codec does what the oracle does, for any layout and payload.
#![expect(clippy::unwrap_used, reason = "a test")]

use candor_signals::{ByteOrder, Codec, Encoded, Fit, Message, MessageCodec, Physical, Ratio, dbc, oracle};
use proptest::prelude::*;

/// `SG_` of a signal inside a payload of `len` bytes.
fn signal(len: u16, name: String, mux: &'static str) -> impl Strategy<Value = String> {
    let factor =
        prop_oneof![Just("1"), Just("0.1"), Just("-0.25"), Just("1E-7"), Just("3"), Just("0.39215686274509803")];
    let offset = prop_oneof![Just("0"), Just("-40"), Just("0.333"), Just("1e3")];
    let place = (1..=64.min(len * 8), any::<bool>(), any::<bool>()).prop_flat_map(move |(bits, little, signed)| {
        (0..=len * 8 - bits).prop_map(move |at| {
            let start = if little { at } else { at ^ 7 };
            format!("{start}|{bits}@{}{}", u8::from(little), if signed { '-' } else { '+' })
        })
    });
    (place, factor, offset).prop_map(move |(place, factor, offset)| {
        format!(" SG_ {name} {mux}: {place} ({factor},{offset}) [0|0] \"\" Vector__XXX\n")
    })
}

fn message() -> impl Strategy<Value = Message> {
    let len = prop_oneof![1..=8u16, Just(12), Just(64)];
    let signals = len.prop_flat_map(|len| {
        let plain: Vec<_> = (0..6).map(|at| signal(len, format!("S{at}"), "")).collect();
        let marks = ["M ", "m0 ", "m1M ", "m1 "];
        let muxed: Vec<_> = marks.iter().enumerate().map(|(at, mark)| signal(len, format!("X{at}"), mark)).collect();
        (Just(len), plain, muxed)
    });
    signals.prop_map(|(len, plain, muxed)| {
        let text = format!(
            "BO_ 1 M: {len} A\n{}{}SG_MUL_VAL_ 1 X1 X0 0-1, 5-250;\nSG_MUL_VAL_ 1 X2 X0 1-100;\nSG_MUL_VAL_ 1 X3 X2 0-3;\n",
            plain.concat(),
            muxed.concat()
        );
        dbc::read(text.as_bytes()).messages.swap_remove(0)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn compiled_signals_are_those_of_the_oracle(message in message(), payload: [u8; 70], len in 0..=70usize, value: u64) {
        let payload = &payload[..len];
        let mut decoded = Vec::new();
        MessageCodec::new(&message).decode(payload, |at, _, bits| decoded.push((at, bits)));
        for (at, signal) in message.signals.iter().enumerate() {
            prop_assert_eq!(&signal.refusal, &None);
            let codec = Codec::new(&message, signal).unwrap();
            let present = oracle::is_present(&message, signal, payload);
            let bits = oracle::get(signal, payload);
            prop_assert_eq!(codec.field().get(payload), bits);
            prop_assert_eq!(codec.is_present(payload), present);
            prop_assert_eq!(codec.get(payload), bits.filter(|_| present));
            prop_assert_eq!(decoded.contains(&(at, bits.unwrap_or_default())), present);

            let mut written = payload.to_vec();
            let expected = oracle::set(signal, payload, value);
            prop_assert_eq!(codec.field().set(&mut written, value), expected.is_some());
            prop_assert_eq!(&written, expected.as_deref().unwrap_or(payload));

            let Some(bits) = bits else { continue };
            let raw = oracle::raw(signal, bits);
            prop_assert_eq!(codec.scale().raw(bits), raw);
            let physical = oracle::physical(signal, raw).unwrap();
            prop_assert_eq!(codec.scale().physical(bits), Physical::Exact(physical));
            prop_assert_eq!(codec.scale().physical_f64(bits), physical.to_f64());
            prop_assert_eq!(codec.encode(Physical::Exact(physical)), Ok(Encoded { bits, fit: Fit::Exact }));
        }
    }

    #[test]
    fn physical_values_become_the_nearest_raw_value(message in message(), value: i64, places in 0u32..12) {
        let physical: Ratio = format!("{value}e-{places}").parse().unwrap();
        for signal in &message.signals {
            let codec = Codec::new(&message, signal).unwrap();
            let encoded = codec.encode(Physical::Exact(physical)).unwrap();
            let Some(raw) = oracle::encode(signal, physical) else { continue };
            prop_assert_eq!(codec.scale().raw(encoded.bits), raw);
            let back = oracle::physical(signal, raw).unwrap();
            match encoded.fit {
                Fit::Exact => prop_assert_eq!(back, physical),
                Fit::Rounded => prop_assert_ne!(back, physical),
                Fit::Saturated => {
                    let (smallest, largest) = signal.raw_range().unwrap();
                    prop_assert!(raw == smallest || raw == largest);
                    prop_assert_ne!(back, physical);
                }
            }
        }
    }

    #[test]
    fn floating_point_signals_keep_every_value(value: u64, little: bool, wide: bool) {
        let (start, bits, kind) = (if little { 0 } else { 7 }, if wide { 64 } else { 32 }, if wide { 2 } else { 1 });
        let text = format!(
            "BO_ 1 M: 8 A\n SG_ F : {start}|{bits}@{}- (1,0) [0|0] \"\" X\nSIG_VALTYPE_ 1 F : {kind};\n",
            u8::from(little)
        );
        let database = dbc::read(text.as_bytes());
        let (message, signal) = database.signal("M.F").unwrap();
        let codec = Codec::new(message, signal).unwrap();
        let bits = value & codec.field().mask();
        let expected = if wide { f64::from_bits(bits) } else { f32::from_bits(u32::try_from(bits).unwrap()).into() };
        let Physical::Float(found) = codec.scale().physical(bits) else { panic!("not a floating-point number") };
        prop_assert!(found == expected || found.is_nan() && expected.is_nan());
        if !found.is_nan() && found != 0.0 {
            prop_assert_eq!(codec.encode(Physical::Float(found)), Ok(Encoded { bits, fit: Fit::Exact }));
        }
    }
}

fn codec_of(text: &str) -> Codec {
    let database = dbc::read(format!("BO_ 1 M: 8 A\n{text}").as_bytes());
    let (message, signal) = database.signal("M.S").unwrap();
    Codec::new(message, signal).unwrap()
}

#[test]
fn halves_go_to_the_even_raw_value_and_ends_saturate() {
    let codec = codec_of(" SG_ S : 0|8@1- (0.5,10) [0|0] \"\" X\n");
    for (physical, raw, fit) in [
        ("10.25", 0, Fit::Rounded),
        ("10.75", 2, Fit::Rounded),
        ("9.75", 0, Fit::Rounded),
        ("9.25", -2, Fit::Rounded),
        ("-54", -128, Fit::Exact),
        ("-54.25", -128, Fit::Rounded),
        ("-54.3", -129 + 1, Fit::Saturated),
        ("73.5", 127, Fit::Exact),
        ("1e30", 127, Fit::Saturated),
        ("-1e30", -128, Fit::Saturated),
    ] {
        let encoded = codec.encode(Physical::Exact(physical.parse().unwrap())).unwrap();
        assert_eq!((codec.scale().raw(encoded.bits), encoded.fit), (raw, fit), "{physical}");
    }
}

#[test]
fn floating_point_values_of_whole_signals_are_exact_or_saturated() {
    let codec = codec_of(" SG_ S : 0|8@1+ (-0.5,0) [0|0] \"\" X\n");
    for (physical, bits, fit) in [
        (-0.5, 1, Fit::Exact),
        (-0.6, 1, Fit::Rounded),
        (f64::INFINITY, 0, Fit::Saturated),
        (f64::NEG_INFINITY, 255, Fit::Saturated),
        (1e300, 0, Fit::Saturated),
        (-1e-300, 0, Fit::Rounded),
    ] {
        assert_eq!(codec.encode(Physical::Float(physical)), Ok(Encoded { bits, fit }), "{physical}");
    }
    assert!(codec.encode(Physical::Float(f64::NAN)).is_err());
}

#[test]
fn a_finite_value_does_not_become_infinite() {
    let codec = codec_of(" SG_ S : 0|32@1- (1,0) [0|0] \"\" X\nSIG_VALTYPE_ 1 S : 1;\n");
    let largest = f32::MAX.to_bits().into();
    assert_eq!(codec.encode(Physical::Float(1e200)), Ok(Encoded { bits: largest, fit: Fit::Saturated }));
    let infinite = f32::INFINITY.to_bits().into();
    assert_eq!(codec.encode(Physical::Float(f64::INFINITY)), Ok(Encoded { bits: infinite, fit: Fit::Exact }));
}

#[test]
fn names_are_found_both_ways() {
    let codec =
        codec_of(" SG_ S : 0|4@1- (1,0) [0|0] \"\" X\nVAL_ 1 S 0 \"off\" 1 \"on\" -1 \"invalid\" 99 \"never\" ;\n");
    assert_eq!((codec.name(15), codec.name(0), codec.name(2)), (Some("invalid"), Some("off"), None));
    assert_eq!((codec.named("invalid"), codec.named("on"), codec.named("never")), (Some(15), Some(1), None));
}

#[test]
fn nothing_allocates_while_frames_pass() {
    let database = dbc::read(
        b"BO_ 1 M: 8 A\n SG_ X M : 0|2@1+ (1,0) [0|0] \"\" A\n SG_ S m1 : 2|14@1- (0.1,-4) [0|0] \"\" A\nVAL_ 1 S 1 \"a\" ;\n",
    );
    let message = &database.messages[0];
    let codec = MessageCodec::new(message);
    let mut payload = [1, 2, 3, 4, 5, 6, 7, 8];
    let mut sum = 0.0;
    let info = allocation_counter::measure(|| {
        codec.decode(&payload, |_, codec, bits| {
            sum += codec.scale().physical_f64(bits) + codec.scale().physical(bits).to_f64();
            sum += f64::from(u8::from(codec.name(bits).is_some()));
        });
        for (_, codec) in codec.signals() {
            let encoded = codec.encode(Physical::Float(1.0)).unwrap();
            assert!(codec.set(&mut payload, encoded.bits));
        }
    });
    assert!(sum != 0.0);
    assert_eq!(info.count_total, 0);
}

#[test]
fn big_endian_starts_with_the_most_significant_bit() {
    let field = candor_signals::Field::new(3, 12, ByteOrder::Big).unwrap();
    assert_eq!(field.get(&[0xFA, 0xBC]), Some(0xABC));
    assert_eq!(candor_signals::Field::new(65_535, 64, ByteOrder::Little).unwrap().end(), 8200);
    assert!(candor_signals::Field::new(0, 65, ByteOrder::Little).is_none());
    assert!(candor_signals::Field::new(0, 0, ByteOrder::Little).is_none());
}
