use super::*;
use crate::testing::{read_all, texts};
use crate::{Clock, Format};

#[test]
fn lines_of_canoe_are_read() {
    let text = "date Sam Sep 30 10:06:13.191 am 2017\nbase hex  timestamps absolute\n// version 8.1.0\n\
                internal events logged\nBegin Triggerblock Sam Sep 30 10:06:13.191 am 2017\n\
                \x20  0.000000 Start of measurement\n   0.015991 CAN 1 Status:chip status error active\n\
                \x20  0.500000 1  ErrorFrame\tECC: 10100010\n   1.015991 1  222             Rx   r Length = 0 BitCount = 42 ID = 546\n\
                \x20  1.115991 2  18EBFF00x       Tx   d 8 01 A0 0F A6 60 3B D1 40 Length = 273910 BitCount = 141 ID = 418119424x\n\
                \x20  1.215991 1  223             Rx   r 8\n   1.300000 1  Statistic: D 0 R 0 XD 0 XR 0 E 0 O 0 B 0.00%\n\
                \x20 30.005021 CANFD   1 Rx        300  Generic_Name_12 1 0 8  8 01 02 03 04 05 06 07 08   102203  133   303000 \
                e0006659 46500250 4b140250 20011736 2001040d\n\
                \x20 30.805898 CANFD   2 Tx   18000000x   0 1 a 16 00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F 1331 151 5000 0 0 0 0 0\n\
                \x20 30.905898 CANFD   2 Tx        123   0 0 1  1 77 1331 151 0 0 0 0 0 0\nEnd TriggerBlock\n";
    let (found, skipped, end) = read_all(Format::Asc, text.as_bytes());
    assert_eq!(end, Ok(()));
    assert_eq!(
        texts(&found),
        [
            "1506765973.691000000 can0 20000080#0000000000000000",
            "1506765974.206991000 can0 222#R Rx",
            "1506765974.306991000 can1 18EBFF00#01A00FA6603BD140 Tx",
            "1506765974.406991000 can0 223#R8 Rx",
            "1506766003.196021000 can0 300##50102030405060708 Rx",
            "1506766003.996898000 can1 18000000##6000102030405060708090A0B0C0D0E0F Tx",
            "1506766004.096898000 can1 123#77 Tx",
        ]
    );
    assert_eq!(skipped.iter().collect::<Vec<_>>(), [("events that are no frames left out", 2)]);
}

#[test]
fn decimal_numbers_and_relative_times_are_read() {
    let text = "base dec  timestamps relative\n0.1 1 291 Rx d 2 17 255\n0.2 1 305419896x Tx d 0\n";
    let (found, _, end) = read_all(Format::Asc, text.as_bytes());
    assert_eq!(end, Ok(()));
    assert_eq!(texts(&found), ["0.100000000 can0 123#11FF Rx", "0.300000000 can0 12345678# Tx"]);
    assert!(found.iter().all(|(_, record)| record.clock == Clock::Start && record.direction.is_some()));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, wanted) in [
        ("0.1 1 800 Rx d 0\n", "line 1: the identifier 800 does not fit into 11 bits"),
        ("0.1 1 123 Rx d 2 11\n", "line 1: 1 of 2 data bytes are there"),
        ("0.1 1 123 Rx d 2 11 2", "line 1: the file ends within a line"),
        ("0.1 1 123 Rx d 2 11 xy\n", "line 1: the data byte \"xy\""),
        ("0.1 1 123 Rx d 1F\n", "line 1: a DLC of 31; at most 15 is possible"),
        ("\n0.1 CANFD 1 Rx 123 1\n", "line 2: the bits BRS and ESI are missing"),
        ("0.1 CANFD 1 Rx 123 1 0 8 99\n", "line 1: DLC and length are missing, or too large"),
    ] {
        assert_eq!(read_all(Format::Asc, text.as_bytes()).2, Err(wanted.to_owned()), "{text:?}");
    }
    assert_eq!((FLAG_REMOTE, FLAG_FDF), (0x10, 0x1000));
}

#[test]
fn a_file_that_is_cut_or_of_another_kind_is_told() {
    let head = "date Sam Sep 30 10:06:13.191 am 2017\nbase hex  timestamps absolute\n";
    let line = "0.1 1 123 Rx d 1 11\n";
    for (text, frames, wanted) in [
        ("import os\n".to_owned(), 0, "line 1: \"import os\" is neither a header nor an event of Vector ASC"),
        ("// only a comment\n".to_owned(), 0, "line 1: the file has no line of Vector ASC"),
        ("1,2\n3 4\n".to_owned(), 0, "line 1: \"1,2\" is neither a header nor an event of Vector ASC"),
        (head.to_owned(), 0, "line 2: the file ends within its header"),
        (
            format!("{head}Begin Triggerblock\n{line}"),
            1,
            "line 4: the file ends within a trigger block, which has no End TriggerBlock",
        ),
        (format!("{head}Begin Triggerblock\n{line}End Trigg"), 1, "line 5: the file ends within a line"),
        (format!("{head}  0.0"), 0, "line 3: the file ends within a line"),
        (format!("{head}{line}0.2 1 123 Rx r 1"), 1, "line 4: the file ends within a line"),
        (format!("{head}{line}0.2 CANFD 1 Rx 123 1 0 1 1 11 0 0 100"), 1, "line 4: the file ends within a line"),
    ] {
        let (found, _, end) = read_all(Format::Asc, text.as_bytes());
        assert_eq!((found.len(), end), (frames, Err(wanted.to_owned())), "{text:?}");
    }
    let whole = format!("{head}{line}0.2 1 123 Rx d 2 11 22");
    let (found, _, end) = read_all(Format::Asc, whole.as_bytes());
    assert_eq!((found.len(), end), (2, Ok(())));
    let ended = format!("{head}Begin Triggerblock\n{line}end triggerblock");
    let (found, _, end) = read_all(Format::Asc, ended.as_bytes());
    assert_eq!((found.len(), end), (1, Ok(())));
}
