use crate::Format;
use crate::testing::{read_all, texts};

fn lines(text: &str) -> Vec<String> {
    let (found, _, end) = read_all(Format::Trc, text.as_bytes());
    assert_eq!(end, Ok(()), "{text}");
    texts(&found)
}

#[test]
fn every_version_is_read() {
    let old = "; a comment\n     1)      1059 0300 7 00 00 00 00 04 00 00\n     2)      1100 18EF0012 2 RTR\n\
               \x20    3)      1200 FFFFFFFF 4 00 00 00 08 -- -- -- -- BUSHEAVY\n";
    assert_eq!(lines(old), ["1.059000000 can0 300#00000000040000", "1.100000000 can0 18EF0012#R2"]);
    let head = |version: &str| format!(";$FILEVERSION={version}\r\n;$STARTTIME=45244.9259260000\r\n;\r\n");
    let one = head("1.1")
        + "     1)      1059.9  Rx         0300  1  AA\r\n     2)      1060.0  Warng  FFFFFFFF  4  00 00 00 08\r\n";
    assert_eq!(lines(&one), ["1700000001.065900000 can0 300#AA Rx"]);
    let two = head("1.2") + "     1)      1059.900 2  Tx  00012345  0\r\n";
    assert_eq!(lines(&two), ["1700000001.065900000 can1 00012345# Tx"]);
    let three = head("1.3") + "     1)      1059.900 1  Rx        0300 -  2    RTR\r\n";
    assert_eq!(lines(&three), ["1700000001.065900000 can0 300#R2 Rx"]);
    let columns = ";$COLUMNS=N,O,T,I,d,l,D\r\n";
    let four =
        head("2.0") + columns + "      1      1059.900 FB     0300 Rx 12 00 01 02 03 04 05 06 07 08 09 0A 0B\r\n";
    assert_eq!(lines(&four), ["1700000001.065900000 can0 300##5000102030405060708090A0B Rx"]);
    let columns = ";$COLUMNS=N,O,T,B,I,d,R,L,D\r\n";
    let five = head("2.1")
        + columns
        + "      1      1059.900 FE  3     0300 Tx -  9    00 01 02 03 04 05 06 07 08 09 0A 0B\r\n"
        + "      2      1060.000 ST  3        - Rx -  4    00 00 00 00\r\n"
        + "      3      1060.000 ER  3        - Rx -  5    04 00 02 00 00\r\n";
    assert_eq!(
        lines(&five),
        [
            "1700000001.065900000 can2 300##7000102030405060708090A0B Tx",
            "1700000001.066000000 can2 20000080#0000000000000000"
        ]
    );
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let columns = ";$FILEVERSION=2.1\n;$COLUMNS=N,O,T,B,I,d,R,L,D\n";
    for (text, wanted) in [
        (";$FILEVERSION=3.0\n".to_owned(), "line 1: version 3.0; known are 1.0 to 1.3, 2.0 and 2.1"),
        (
            ";$FILEVERSION=2.1\n 1 1.0 DT 1 0300 Rx - 0\n".to_owned(),
            "line 2: a line before the columns, which versions 2.0 and 2.1 name",
        ),
        (";$STARTTIME=x\n".to_owned(), "line 1: the start time x"),
        (format!("{columns} 1 1.0 DT 1 0300 Rx - 2 11\n"), "line 3: 1 of 2 data bytes are there"),
        (format!("{columns} 1 1.0 DT 1 0300 Rx - 2 11 2"), "line 3: the file ends within a line"),
        (format!("{columns} 1 1.0 DT 1 0800 Rx - 0\n"), "line 3: the identifier 800 does not fit into 11 bits"),
        (format!("{columns} 1 1.0 FD 1 0300 Rx - 16\n"), "line 3: a DLC of 16; at most 15 is possible"),
        (format!("{columns} 1 x DT 1 0300 Rx - 16\n"), "line 3: the time \"x\""),
    ] {
        assert_eq!(read_all(Format::Trc, text.as_bytes()).2, Err(wanted.to_owned()), "{text:?}");
    }
}

#[test]
fn a_file_that_is_cut_or_of_another_kind_is_told() {
    let head = ";$FILEVERSION=2.1\n;$COLUMNS=N,O,T,B,I,d,R,L,D\n 1 1.0 DT 1 0300 Rx - 1 11\n";
    for (text, frames, wanted) in [
        ("import os\n".to_owned(), 0, "line 1: \"import os\" is neither a header nor a line of PEAK TRC"),
        ("; a comment\n".to_owned(), 0, "line 1: the file has no line of PEAK TRC"),
        (format!("{head} 2 2.0"), 1, "line 4: the file ends within a line"),
        (format!("{head} 2 2.0 F"), 1, "line 4: the file ends within a line"),
        (format!("{head} 2 2.0 RR 1 0300 Rx - 1"), 1, "line 4: the file ends within a line"),
        (format!("{head};"), 1, "line 4: the file ends within a line"),
    ] {
        let (found, _, end) = read_all(Format::Trc, text.as_bytes());
        assert_eq!((found.len(), end), (frames, Err(wanted.to_owned())), "{text:?}");
    }
    assert_eq!(lines(&format!("{head} 2 2.0 DT 1 0300 Rx - 2 11 22")).len(), 2);
    assert_eq!(lines(&format!("{head}  ")).len(), 1);
}
