use candor_core::arbitrary;
use proptest::prelude::*;

use super::*;

fn read_all(bytes: &[u8]) -> (Vec<Record>, Vec<String>, Result<(), String>) {
    let mut reader = Reader::new(bytes);
    let (mut records, mut record) = (Vec::new(), Record::EMPTY);
    let end = loop {
        match reader.read(&mut record) {
            Ok(true) => records.push(record),
            Ok(false) => break Ok(()),
            Err(error) => break Err(error.to_string()),
        }
    };
    (records, reader.buses().names().map(str::to_owned).collect(), end)
}

#[test]
fn lines_have_time_bus_frame_and_direction() {
    let text = "(1700000000.123456) can0 123#1122 R\n\n(1700000000.123456789) vcan1 12345678##5AABB T\n\
                (0000000001.000000) can0 20000004#0001000000000000\n(1) can0 123#R8_9\r\n(1.5) can0 5#";
    let (records, buses, end) = read_all(text.as_bytes());
    assert_eq!(buses, ["can0", "vcan1"]);
    assert_eq!(end, Err("line 6: the file ends within a line, which has no line end".to_owned()));
    let found: Vec<_> = records.iter().map(|one| (one.at_ns, one.clock, one.bus.0, one.direction)).collect();
    let unix = 1_700_000_000_123_456_000;
    assert_eq!(
        found,
        [
            (unix, Clock::Unix, 0, Some(Direction::Received)),
            (unix + 789, Clock::Unix, 1, Some(Direction::Sent)),
            (1_000_000_000, Clock::Start, 0, None),
            (1_000_000_000, Clock::Start, 0, None),
        ]
    );
    let frames: Vec<_> = records.iter().map(|one| one.frame.to_string()).collect();
    assert_eq!(frames, ["123#1122", "12345678##5AABB", "20000004#0001000000000000", "123#R8_9"]);
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    for (text, wanted) in [
        ("(1.0) can0 123#11\nnonsense\n", "line 2: it does not have three words"),
        ("  can0  123   [2]  11 22\n", "line 1: candump printed it for people; candump -L or -l writes a log"),
        ("(1.0)  can0  123   [2]  11 22\n", "line 1: candump printed it for people; candump -L or -l writes a log"),
        ("(1.0) can0 123#1\n", "line 1: 123#1: A data byte needs two hexadecimal digits"),
        ("(1.0) can0 123#\u{1}\n", "line 1: 123#\u{1}: '\\u{1}' is not a hexadecimal digit"),
        ("(18000000000.0) can0 123#\n", "line 1: its time is after the year 2262"),
        (
            "\n(1.0) can0 8001#\n",
            "line 2: 8001#: An identifier must have 3 digits (11 bits) or 8 digits (29 bits), not 4",
        ),
        ("(1.0) ca", "line 1: the file ends within a line, which has no line end"),
        // It may have had more data.
        ("(1.0) can0 123#11\n(1.0) can0 123#11", "line 2: the file ends within a line, which has no line end"),
    ] {
        assert_eq!(read_all(text.as_bytes()).2, Err(wanted.to_owned()), "{text:?}");
    }
    assert_eq!(read_all(b"(1.0) can0 123#\xFF\n").2, Err("line 1: it is not UTF-8".to_owned()));
    let long = [b'x'; 200_000];
    assert_eq!(read_all(&long).2, Err("line 1: the line has more than 65536 bytes".to_owned()));
}

#[test]
fn comments_and_can_xl_frames_are_counted() {
    let text = b"# from the bench\n(1.0) can0 45123#81:00:12345678#1122\n(1.1) can0 123#\n";
    let mut reader = Reader::new(&text[..]);
    let mut record = Record::EMPTY;
    assert!(reader.read(&mut record).unwrap());
    assert_eq!(record.frame.to_string(), "123#");
    assert_eq!(reader.skipped().iter().collect::<Vec<_>>(), [("comments left out", 1), ("CAN XL frames left out", 1)]);
}

#[test]
fn the_number_of_buses_is_limited() {
    let text: String = (0..crate::MOST_BUSES + 1).map(|bus| format!("(1.0) can{bus} 123#\n")).collect();
    let (records, _, end) = read_all(text.as_bytes());
    assert_eq!(records.len(), crate::MOST_BUSES);
    assert!(end.unwrap_err().starts_with("line 4097: \"can4096\" is not the name of a bus"));
}

/// Lines as candump writes them, and lines with a mistake somewhere.
fn text_of_line() -> impl Strategy<Value = String> {
    let time = prop_oneof![
        (0_u64..20_000_000_000, 0_u32..1_000_000).prop_map(|(s, us)| format!("{s}.{us:06}")),
        (0_u64..20_000_000_000, 0_u32..1_000_000_000).prop_map(|(s, ns)| format!("{s:010}.{ns:09}")),
    ];
    let frame = prop_oneof![
        arbitrary::wire_frame().prop_map(|frame| frame.to_string()),
        "([0-9A-Fa-f]{3}|[0-9A-F]{8})#[#R]?[0-9A-Fa-f.]{0,18}",
    ];
    let line = (time, "can[0-9]", frame, prop_oneof![Just(""), Just(" R"), Just(" T"), Just(" X"), Just("\r")])
        .prop_map(|(time, name, frame, end)| format!("({time}) {name} {frame}{end}\n"));
    prop_oneof![
        4 => line.clone(),
        1 => (line, any::<prop::sample::Index>(), "[ -~]").prop_map(|(line, at, letter)| {
            let at = at.index(line.len() - 1);
            format!("{}{letter}{}", &line[..at], &line[at + 1..])
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// The slow reader is the oracle of the fast one.
    #[test]
    fn usual_lines_are_read_as_any_line(text in text_of_line()) {
        let (mut fast, mut buses) = (Record::EMPTY, Buses::new());
        if let Some(len) = fast::read(text.as_bytes(), &mut buses, &mut fast) {
            prop_assert_eq!(len, text.len());
            let line = Line::parse(text.trim_end()).unwrap();
            let (mut slow, mut others) = (Record::EMPTY, Buses::new());
            into_record(&line, &mut others, &mut slow).unwrap();
            prop_assert_eq!(fast, slow);
            prop_assert_eq!(buses.name(fast.bus), others.name(slow.bus));
        }
    }

    #[test]
    fn frames_of_candump_are_usual_lines(frame in arbitrary::wire_frame(), at_ns in 0_i64..9_000_000_000_000_000_000) {
        let record = Record { at_ns, clock: Clock::of(at_ns), frame, ..Record::EMPTY };
        let mut bytes = Vec::new();
        line(&mut bytes, "can0", &record);
        let (mut buses, mut read) = (Buses::new(), Record::EMPTY);
        let found = fast::read(&bytes, &mut buses, &mut read);
        let is_rare = frame.id.is_rtr() || frame.len8_dlc != 0;
        prop_assert_eq!(found, (!is_rare).then_some(bytes.len()));
        prop_assert!(bytes.windows(frame.to_string().len()).any(|part| part == frame.to_string().as_bytes()));
    }
}
