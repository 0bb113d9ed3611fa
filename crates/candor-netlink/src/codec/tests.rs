use proptest::prelude::*;

use super::*;

#[test]
fn lengths_and_padding_are_set() {
    let mut writer = MessageWriter::new(16, NLM_F_REQUEST | NLM_F_ACK);
    writer.header(&[29, 1, 0, 0]).attribute(13, &[5]).nested(18, |inner| {
        inner.text(1, "vcan");
    });
    #[rustfmt::skip]
    let expected = [
        44, 0, 0, 0,  16, 0, 5, 0,  7, 0, 0, 0,  0, 0, 0, 0,
        29, 1, 0, 0,
        5, 0, 13, 0,  5, 0, 0, 0,
        16, 0, 18, 0,
        9, 0, 1, 0,  b'v', b'c', b'a', b'n',  0, 0, 0, 0,
    ];
    if cfg!(target_endian = "little") {
        assert_eq!(writer.finish(7), expected);
    }
}

#[test]
fn a_length_beyond_the_end_is_an_error_once() {
    let mut attributes = Attributes::new(&[200, 0, 1, 0, 1, 2, 3, 4]);
    assert_eq!(attributes.next(), Some(Err(DecodeError::BadLength { len: 200, available: 8 })));
    assert_eq!(attributes.next(), None);
    let zero_length = Messages::new(&[0; 16]).collect::<Vec<_>>();
    assert_eq!(zero_length, [Err(DecodeError::BadLength { len: 0, available: 16 })]);
}

proptest! {
    #[test]
    fn what_is_written_is_read(kind: u16, flags: u16, sequence: u32, header: [u8; 4],
                               values in proptest::collection::vec((0..0x4000_u16, proptest::collection::vec(any::<u8>(), 0..80)), 0..20)) {
        let mut writer = MessageWriter::new(kind, flags);
        writer.header(&header);
        for (kind, value) in &values {
            writer.attribute(*kind, value);
        }
        let bytes = writer.finish(sequence);
        let messages = Messages::new(&bytes).collect::<Result<Vec<_>, _>>().unwrap();
        prop_assert_eq!(messages.len(), 1);
        prop_assert_eq!((messages[0].kind, messages[0].flags, messages[0].sequence), (kind, flags, sequence));
        let (read_header, attributes) = messages[0].split::<4>().unwrap();
        prop_assert_eq!(read_header, &header);
        let read = attributes.map(|attribute| attribute.map(|a| (a.kind, a.value.to_vec()))).collect::<Result<Vec<_>, _>>().unwrap();
        prop_assert_eq!(read, values);
    }

    #[test]
    fn garbage_never_panics_and_always_ends(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for message in Messages::new(&bytes).flatten() {
            if let Ok((_, attributes)) = message.split::<16>() {
                for attribute in attributes.flatten() {
                    let _ = (attribute.u32(), attribute.u8(), attribute.text(), attribute.nested().count());
                }
            }
        }
    }
}
