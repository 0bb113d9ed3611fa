use crate::testing::{read_all, texts, written};
use crate::{BusIndex, Clock, Direction, Format, Record};

fn records(count: u32) -> Vec<Record> {
    let record = |at: u32| Record {
        at_ns: 1_700_000_000_000_000_000 + i64::from(at) * 1000,
        clock: Clock::Unix,
        bus: BusIndex(0),
        direction: Some(Direction::Received),
        frame: format!("{:03X}#{at:08X}", at % 0x800).parse().unwrap(),
    };
    (0..count).map(record).collect()
}

#[test]
fn the_header_has_sizes_and_dates() {
    let (bytes, lost) = written(Format::Blf, &records(10_000));
    assert!(lost.is_empty());
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((&bytes[..4], word(4), u64::from(word(16))), (&b"LOGG"[..], 144, bytes.len() as u64));
    let objects = 10_000 * 48;
    let containers = u64::from(word(24)) - 144 - objects;
    assert_eq!((containers / 32, containers % 32, word(32)), (4, 0, 10_000));
    let half = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap());
    let date: Vec<u16> = (0..8).map(|word| half(40 + 2 * word)).collect();
    assert_eq!(date, [2023, 11, 2, 14, 22, 13, 20, 0]);
}

/// Python-can cuts an object where a container is full; so does this.
#[test]
fn objects_cross_containers() {
    let (bytes, _) = written(Format::Blf, &records(100));
    let mut objects = Vec::new();
    let packed = &bytes[144 + 32..];
    std::io::copy(&mut flate2::read::ZlibDecoder::new(packed), &mut objects).unwrap();
    assert_eq!(objects.len(), 4800);
    for at in [1, 16, 100, 4799] {
        let mut again = bytes[..144].to_vec();
        for part in [&objects[..at], &objects[at..]] {
            again.extend(b"LOBJ\x10\0\x01\0");
            again.extend(u32::try_from(part.len() + 32).unwrap().to_le_bytes());
            again.extend([10, 0, 0, 0]);
            again.extend([0; 8]); // not compressed
            again.extend(u32::try_from(part.len()).unwrap().to_le_bytes());
            again.extend([0; 4]);
            again.extend(part);
            again.extend(&[0; 3][..part.len() % 4]);
        }
        let (found, _, end) = read_all(Format::Blf, &again);
        assert_eq!((found.len(), end), (100, Ok(())), "{at}");
    }
}

#[test]
fn damage_is_named_with_the_byte_of_its_container() {
    let (bytes, _) = written(Format::Blf, &records(10_000));
    let read = |bytes: &[u8]| {
        let (found, _, end) = read_all(Format::Blf, bytes);
        (found.len(), end.unwrap_err())
    };
    assert_eq!(read(b"LOGX").1, "byte 0: the file does not begin with LOGG");
    assert_eq!(read(&bytes[..100]).1, "byte 0: the file ends within the header of the file");
    let second = 144 + u32::from_le_bytes(bytes[152..156].try_into().unwrap()) as usize;
    let second = second + second % 4;
    assert_eq!(&bytes[second..second + 4], b"LOBJ");
    let (found, end) = read(&bytes[..second + 1000]);
    assert!((2729..3000).contains(&found), "{found}");
    assert_eq!(end, format!("byte {second}: the file ends within a container"));
    let mut damaged = bytes.clone();
    damaged[second + 32] ^= 0xFF;
    let (found, end) = read(&damaged);
    assert_eq!(found, 2729);
    assert!(end.starts_with(&format!("byte {second}: a container cannot be decompressed")), "{end}");
    damaged[second] = b'X';
    assert_eq!(read(&damaged).1, format!("byte {second}: an object does not begin with LOBJ"));
}

/// Types that only others write.
#[test]
fn objects_of_vector_are_read() {
    let object = |version: u16, kind: u32, body: &[u8]| {
        let header: u16 = if version == 1 { 32 } else { 40 };
        let size = u32::from(header) + u32::try_from(body.len()).unwrap();
        let mut bytes = [&b"LOBJ"[..], &header.to_le_bytes(), &version.to_le_bytes(), &size.to_le_bytes()].concat();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes()); // 10 us
        bytes.extend([0; 4]);
        bytes.extend(5_u64.to_le_bytes());
        bytes.resize(header.into(), 0);
        bytes.extend(body);
        bytes.resize(bytes.len() + body.len() % 4, 0);
        bytes
    };
    let fd64 = |flags: u32, dlc: u8, data: &[u8]| {
        let mut body = vec![2, dlc, u8::try_from(data.len()).unwrap(), 0];
        body.extend(0x8000_0123_u32.to_le_bytes());
        body.extend([0; 4]);
        body.extend(flags.to_le_bytes());
        body.resize(34, 0);
        body.extend([1, 0, 0, 0, 0, 0]);
        body.extend(data);
        body
    };
    let mut error = vec![1, 0, 7, 0, 1, 0, 0, 0, 9, 3, 0, 0];
    error.resize(32, 0);
    let parts = [
        object(2, 86, &[&[1, 0, 0, 2, 0x23, 1, 0, 0, 0x11, 0x22, 0, 0, 0, 0, 0, 0][..], &[0; 8]].concat()),
        object(1, 101, &fd64(0x7000, 9, &[1, 2, 3])),
        object(1, 101, &fd64(0x10, 8, &[])),
        object(1, 73, &error),
        object(1, 2, &[1, 0, 0, 0]),
        object(1, 104, &[1; 40]),
        object(1, 65, &[1; 13]),
    ];
    let mut bytes = written(Format::Blf, &[]).0;
    parts.iter().for_each(|part| bytes.extend(part));
    let (found, skipped, end) = read_all(Format::Blf, &bytes);
    assert_eq!(end, Ok(()));
    let error = "0.000050000 can0 20000080#0000000000000000";
    assert_eq!(
        texts(&found),
        [
            "0.000050000 can0 123#1122 Rx",
            "0.000050000 can1 00000123##7010203000000000000000000 Tx",
            "0.000050000 can1 00000123#R8 Tx",
            error,
            error,
            error,
        ]
    );
    assert_eq!(skipped.iter().collect::<Vec<_>>(), [("objects that are no frames left out", 1)]);
}
