use super::*;
use crate::Format;
use crate::testing::{read_all, texts};

/// A file with these records between its magic and the end of its data.
fn file(records: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    record(&mut bytes, HEADER, |body| body.extend([0; 8]));
    records(&mut bytes);
    record(&mut bytes, DATA_END, |body| body.extend([0; 4]));
    bytes
}

fn schema(bytes: &mut Vec<u8>, number: u16, name: &str) {
    record(bytes, SCHEMA, |body| {
        body.extend(number.to_le_bytes());
        text(body, name);
    });
}

fn channel(bytes: &mut Vec<u8>, number: u16, schema: u16, topic: &str, encoding: &str) {
    record(bytes, CHANNEL, |body| {
        body.extend(number.to_le_bytes());
        body.extend(schema.to_le_bytes());
        text(body, topic);
        text(body, encoding);
        body.extend([0; 4]);
    });
}

fn message(bytes: &mut Vec<u8>, channel: u16, at_ns: u64, content: &str) {
    record(bytes, MESSAGE, |body| {
        body.extend(channel.to_le_bytes());
        body.extend([0; 4]);
        body.extend([at_ns.to_le_bytes(), at_ns.to_le_bytes()].concat());
        body.extend(content.as_bytes());
    });
}

fn chunk(bytes: &mut Vec<u8>, compression: &str, records: &[u8]) {
    record(bytes, CHUNK_OF_RECORDS, |body| {
        body.extend([0; 28]);
        text(body, compression);
        body.extend((records.len() as u64).to_le_bytes());
        body.extend(records);
    });
}

const FRAME: &str = r#"{"id":291,"extended":false,"kind":"data","dlc":2,"length":2,"brs":false,"esi":false,"direction":"Rx","data":"ESI="}"#;

#[test]
fn frames_are_read_among_messages_of_others() {
    let mut inner = Vec::new();
    schema(&mut inner, 7, SCHEMA_NAME);
    channel(&mut inner, 3, 7, "/body", "json");
    message(&mut inner, 3, 1_000_000_001, FRAME);
    let bytes = file(|bytes| {
        schema(bytes, 1, "sensor_msgs/msg/Imu");
        channel(bytes, 0, 1, "/imu", "cdr");
        message(bytes, 0, 1, "anything");
        message(bytes, 0, 1, &"picture".repeat(300_000));
        channel(bytes, 1, 1, &"/long".repeat(300_000), "cdr");
        message(bytes, 1, 1, "anything");
        chunk(bytes, "", &inner);
        // An index of messages, whose record is skipped.
        record(bytes, 7, |body| body.resize(body.len() + 2_000_000, 0));
        message(bytes, 3, 1_000_000_002, &FRAME.replace(r#""Rx""#, "null"));
    });
    let (records, skipped, end) = read_all(Format::Mcap, &bytes);
    assert_eq!(texts(&records), ["1.000000001 body 123#1122 Rx", "1.000000002 body 123#1122"]);
    assert_eq!(skipped.iter().collect::<Vec<_>>(), [("messages that are no frames of candor left out", 3)]);
    assert_eq!(end, Ok(()));
}

#[test]
fn what_cannot_be_read_is_named_with_its_byte() {
    let with = |content: &str| {
        let content = content.to_owned();
        file(move |bytes| {
            schema(bytes, 7, SCHEMA_NAME);
            channel(bytes, 3, 7, "/body", "json");
            message(bytes, 3, 1, &content);
        })
    };
    let whole = with(FRAME);
    let end = whole.len() - 13;
    for (bytes, wanted) in [
        (whole[..end].to_vec(), format!("byte {end}: the file ends within its data")),
        (whole[..end - 1].to_vec(), "byte 89: the file ends within a record".to_owned()),
        (b"nothing".to_vec(), "byte 0: the file does not begin with the magic of MCAP, version 0".to_owned()),
        (with("{}"), "byte 89: a message: missing field `id` at line 1 column 2".to_owned()),
        (with(&FRAME.replace("ESI=", "ES*=")), "byte 89: data in base64: Invalid symbol 42, offset 2.".to_owned()),
        (with(&FRAME.replace("291", "2048")), "byte 89: the identifier 800 does not fit into 11 bits".to_owned()),
        (
            with(&FRAME.replace(r#""length":2"#, r#""length":3"#)),
            "byte 89: the length 3 is not that of DLC 2, 2".to_owned(),
        ),
        (with(&" ".repeat(2_000_000)), "byte 89: a message of a frame has 2000022 bytes".to_owned()),
        (
            file(|bytes| {
                schema(bytes, 7, SCHEMA_NAME);
                channel(bytes, 3, 7, &"a".repeat(65), "json");
            }),
            "byte 55: a channel of frames has a topic of 65 bytes".to_owned(),
        ),
        (
            file(|bytes| message(bytes, 9, 1, FRAME)),
            "byte 25: a message is of channel 9, which is not described".to_owned(),
        ),
        (
            file(|bytes| chunk(bytes, "zstd", &[1, 2, 3])),
            "byte 25: a chunk is compressed with \"zstd\"; unpack the file first: mcap decompress IN -o OUT".to_owned(),
        ),
    ] {
        assert_eq!(read_all(Format::Mcap, &bytes).2, Err(wanted));
    }
}
