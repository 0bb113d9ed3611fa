//! The fixtures are of minisign 0.11.

use super::invariants::TestKey;
use super::*;

const CAR: &[u8] = include_bytes!("fixtures/car.toml");
const KEY: &[u8] = include_bytes!("fixtures/a.pub");
const OTHER_KEY: &[u8] = include_bytes!("fixtures/b.pub");
const HASHED_SIGNATURE: &str = include_str!("fixtures/hashed.minisig");
const LEGACY_SIGNATURE: &str = include_str!("fixtures/legacy.minisig");
const COMMENT_SIGNATURE: &str = include_str!("fixtures/comment.minisig");
const OTHER_SIGNATURE: &str = include_str!("fixtures/other-key.minisig");

fn key() -> PublicKey {
    PublicKey::of_file(KEY).unwrap()
}

fn verify(signature: &str, content: &[u8]) -> Result<(), Mismatch> {
    Signature::read(signature.as_bytes()).unwrap().verify(&key(), content, &blake2b(content))
}

#[test]
fn signatures_of_minisign_are_verified() {
    assert_eq!(key().id().to_string(), "E38DA969D13782EF");
    for signature in [HASHED_SIGNATURE, LEGACY_SIGNATURE, COMMENT_SIGNATURE] {
        let read = Signature::read(signature.as_bytes()).unwrap();
        assert_eq!((read.key_id(), verify(signature, CAR)), (key().id(), Ok(())), "{signature}");
        assert_eq!(verify(&signature.replace('\n', "\r\n"), CAR), Ok(()), "written on Windows");
    }
    let names = [HASHED_SIGNATURE, LEGACY_SIGNATURE, COMMENT_SIGNATURE]
        .map(|text| Signature::read(text.as_bytes()).unwrap().file_name().map(str::to_owned));
    assert_eq!(names, [Some("car.toml".to_owned()), Some("car.toml".to_owned()), None]);
}

#[test]
fn every_changed_bit_of_the_content_is_noticed() {
    for at in 0..CAR.len() * 8 {
        let mut changed = CAR.to_owned();
        changed[at / 8] ^= 1 << (at % 8);
        assert_eq!(verify(HASHED_SIGNATURE, &changed), Err(Mismatch::Content), "bit {at}");
    }
    assert_eq!(verify(LEGACY_SIGNATURE, &CAR[1..]), Err(Mismatch::Content));
    assert_eq!(verify(HASHED_SIGNATURE, b""), Err(Mismatch::Content));
}

#[test]
fn every_changed_byte_of_the_signature_is_noticed() {
    for (at, byte) in HASHED_SIGNATURE.bytes().enumerate().skip_while(|(_, byte)| *byte != b'\n').skip(1) {
        let mut changed = HASHED_SIGNATURE.as_bytes().to_owned();
        changed[at] = if byte == b'B' { b'C' } else { b'B' };
        let verified = Signature::read(&changed).map(|read| (read.key_id(), read.verify(&key(), CAR, &blake2b(CAR))));
        // The caller looks for a key with this number.
        let is_noticed = verified.is_err_and(|_| true)
            || matches!(verified, Ok((id, verified)) if id != key().id() || verified.is_err());
        assert!(is_noticed, "byte {at}");
    }
}

#[test]
fn a_forged_comment_is_noticed() {
    let forged = HASHED_SIGNATURE.replace("file:car.toml", "file:bus.toml");
    assert_eq!(verify(&forged, CAR), Err(Mismatch::Comment));
    // The first two lines are the same for every comment.
    let lines = |text: &str, which: [usize; 2]| which.map(|at| format!("{}\n", text.lines().nth(at).unwrap())).concat();
    let mixed = lines(HASHED_SIGNATURE, [0, 1]) + &lines(COMMENT_SIGNATURE, [2, 3]);
    assert_eq!(verify(&mixed, CAR), Ok(()), "the signatures of one content by one key are equal");
    let mixed = lines(LEGACY_SIGNATURE, [0, 1]) + &lines(COMMENT_SIGNATURE, [2, 3]);
    assert_eq!(verify(&mixed, CAR), Err(Mismatch::Comment));
}

#[test]
fn the_signature_of_another_key_is_no_signature() {
    let other = PublicKey::of_file(OTHER_KEY).unwrap();
    let read = Signature::read(OTHER_SIGNATURE.as_bytes()).unwrap();
    assert_eq!(read.key_id(), other.id());
    assert_eq!(read.verify(&other, CAR, &blake2b(CAR)), Ok(()));
    assert_eq!(read.verify(&key(), CAR, &blake2b(CAR)), Err(Mismatch::Content), "also if its number were the same");
}

#[test]
fn the_signature_of_a_digest_is_not_that_of_a_file_with_the_digest() {
    let read = Signature::read(HASHED_SIGNATURE.as_bytes()).unwrap();
    let renamed = Signature { is_hashed: false, ..read };
    let digest = *blake2b(CAR).bytes().first_chunk::<64>().unwrap();
    assert_eq!(renamed.verify(&key(), &digest, &blake2b(&digest)), Err(Mismatch::Content));
}

#[test]
fn other_files_are_not_signatures() {
    let with_comment = |comment: &str| HASHED_SIGNATURE.replace("timestamp:", comment);
    for (text, why) in [
        (String::new(), NotASignature::Form),
        (HASHED_SIGNATURE.lines().take(3).collect::<Vec<_>>().join("\n"), NotASignature::Form),
        (format!("{HASHED_SIGNATURE}more\n"), NotASignature::Form),
        (HASHED_SIGNATURE.replace("RUTv", "RUT"), NotASignature::Form),
        (HASHED_SIGNATURE.replace("RUTv", "RVTv"), NotASignature::Algorithm),
        (HASHED_SIGNATURE.replace("trusted comment: time", "comment: time"), NotASignature::Form),
        (with_comment("\x1b[2J"), NotASignature::Comment),
        (with_comment(&"x".repeat(MAX_SIGNATURE_BYTES)), NotASignature::TooLarge),
        (String::from_utf8(KEY.to_owned()).unwrap(), NotASignature::Form),
    ] {
        assert_eq!(Signature::read(text.as_bytes()), Err(why), "{text}");
    }
    assert_eq!(Signature::read(b"\xFF"), Err(NotASignature::Form));
}

#[test]
fn keys_are_files_or_their_second_line() {
    let line = std::str::from_utf8(KEY).unwrap().lines().nth(1).unwrap();
    assert_eq!(PublicKey::of_base64(line), Some(key()));
    for text in ["", "a.pub", &line[1..], &line.replace("RWT", "RUT")] {
        assert_eq!(PublicKey::of_base64(text), None, "{text}");
    }
    for bytes in [&b""[..], b"\xFF", line.as_bytes(), HASHED_SIGNATURE.as_bytes()] {
        assert_eq!(PublicKey::of_file(bytes), Err(NotAKey));
    }
}

#[test]
fn signers_are_recorded() {
    let signer = Signer { key_id: "1".into(), key_file: "a\nb".into(), comment: "by\tme".into() };
    assert_eq!(Signer::of_record(&signer.to_record()), Some(signer));
    assert_eq!(Signer::of_record("1\nby me"), None);
}

#[test]
fn keys_of_tests_sign_like_minisign() {
    let one = TestKey::new(7);
    assert_eq!(PublicKey::of_file(one.file().as_bytes()), Ok(one.public()));
    assert_eq!(PublicKey::of_base64(&one.base64()), Some(one.public()));
    let read = Signature::read(one.sign(CAR, "by a test").as_bytes()).unwrap();
    assert_eq!(read.verify(&one.public(), CAR, &blake2b(CAR)), Ok(()));
    assert_eq!((read.comment(), read.key_id()), ("by a test", one.public().id()));
}
