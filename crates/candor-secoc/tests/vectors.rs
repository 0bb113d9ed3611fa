//! Golden vectors, and CMAC compared with another implementation.
#![expect(clippy::unwrap_used, reason = "a test")]

use candor_secoc::{Cmac, Key, Protection, Scheme};
use cmac::{KeyInit as _, Mac as _};
use proptest::prelude::*;

/// 000102…0F.
fn counting() -> Key {
    Key::new(std::array::from_fn(|at| u8::try_from(at).unwrap()))
}

/// <https://www.rfc-editor.org/rfc/rfc4493#section-4>
#[test]
fn macs_of_rfc_4493() {
    let cmac = Cmac::new(&Key::parse(b"2b7e151628aed2a6abf7158809cf4f3c").unwrap());
    let message: Vec<u8> = concat!(
        "6bc1bee22e409f96e93d7e117393172a",
        "ae2d8a571e03ac9c9eb76fac45af8e51",
        "30c81c46a35ce411e5fbc1191a0a52ef",
        "f69f2445df4f9b17ad2b417be66c3710"
    )
    .as_bytes()
    .chunks(2)
    .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
    .collect();
    assert_eq!(cmac.of(&[]), 0xBB1D_6929_E959_3728_7FA3_7D12_9B75_6746);
    assert_eq!(cmac.of(&message[..16]), 0x070A_16B4_6B4D_4144_F79B_DD9D_D04A_287C);
    assert_eq!(cmac.of(&message[..40]), 0xDFA6_6747_DE9A_E630_30CA_3261_1497_C827);
    assert_eq!(cmac.of(&message), 0x51F0_BEBF_7E3B_9D92_FC49_7417_7936_3CFE);
}

/// The frame and the MAC of the sync frame that opendbc makes.
#[test]
fn frames_of_opendbc() {
    let protection = Protection::new(&Scheme::profile_3(0x131, 4), &counting()).unwrap();
    let mut frame = [1, 2, 3, 4, 0, 0, 0, 0];
    assert!(protection.secure(&mut frame, 1 << 28 | 2 << 8 | 3));
    assert_eq!(frame, [0x01, 0x02, 0x03, 0x04, 0xE9, 0x63, 0x37, 0xA5]);
    let sync = Protection::new(&Scheme::sync(0xF), &counting()).unwrap();
    let mut frame = [0; 8];
    assert!(sync.secure(&mut frame, 1 << 20 | 2));
    assert_eq!(frame, [0x00, 0x01, 0x00, 0x00, 0x2C, 0x10, 0x90, 0xFD]);
    assert!(!sync.secure(&mut frame[..7], 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn macs_are_those_of_the_crate_cmac(key: [u8; 16], message in prop::collection::vec(any::<u8>(), 0..100)) {
        let mut other = cmac::Cmac::<aes::Aes128>::new(&key.into());
        other.update(&message);
        let expected = u128::from_be_bytes(other.finalize().into_bytes().into());
        prop_assert_eq!(Cmac::new(&Key::new(key)).of(&message), expected);
    }

    #[test]
    fn nothing_but_secured_frames_is_accepted(bytes in prop::collection::vec(any::<u8>(), 0..1000)) {
        candor_secoc::invariants::check(&bytes);
    }
}

#[test]
fn corpus_of_the_fuzz_target_holds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/secoc_verify");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 5, "{files:?}");
    files.iter().for_each(|path| candor_secoc::invariants::check(&std::fs::read(path).unwrap()));
}

#[test]
fn frames_cost_no_allocation() {
    use candor_core::job::{Compute as _, RealtimeNs};
    let scheme = Scheme::profile_1(0x131, 4, 64);
    let sender = candor_secoc::Protect::new(scheme.clone(), &counting(), None).unwrap();
    let receiver = candor_secoc::Check::new(scheme, &counting(), None, candor_secoc::Options::default()).unwrap();
    let mut frame: candor_core::frame::Frame = "131#01020304".parse().unwrap();
    let allocated = allocation_counter::measure(|| {
        assert_eq!(sender.change_frame(RealtimeNs::UNKNOWN, &mut frame), candor_core::rule::Verdict::Send);
        assert_eq!(receiver.change_frame(RealtimeNs::UNKNOWN, &mut frame), candor_core::rule::Verdict::Send);
        assert_eq!(receiver.change_frame(RealtimeNs::UNKNOWN, &mut frame), candor_core::rule::Verdict::Delete);
    });
    assert_eq!(allocated.count_total, 0);
}
