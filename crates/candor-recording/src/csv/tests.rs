use super::HEADER;
use crate::Format;
use crate::testing::{read_all, texts};

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let good = "1000,start,\"a,\"\"b\",Rx,data,123,2,2,0,0,1122\r\n";
    let (found, _, end) = read_all(Format::Csv, format!("{HEADER}\n{good}").as_bytes());
    assert_eq!((texts(&found), end), (vec!["0.000001000 a,\"b 123#1122 Rx".to_owned()], Ok(())));
    assert_eq!(
        read_all(Format::Csv, b"time,id\n").2,
        Err(format!("line 1: the columns \"time,id\" do not begin with {HEADER}"))
    );
    for (text, wanted) in [
        ("x,start,a,Rx,data,123,2,2,0,0,1122\n", "the time \"x\""),
        ("1,never,a,Rx,data,123,2,2,0,0,1122\n", "the clock \"never\" is neither unix nor start"),
        ("1,unix,a,Up,data,123,2,2,0,0,1122\n", "the direction \"Up\" is neither Rx nor Tx"),
        ("1,unix,a,Rx,lin,123,2,2,0,0,1122\n", "the kind \"lin\" with identifier 123"),
        ("1,unix,a,Rx,data,800,2,2,0,0,1122\n", "the identifier 800 does not fit into 11 bits"),
        ("1,unix,a,Rx,data,123,2,2,0,0,11\n", "1 of 2 data bytes are there"),
        ("1,unix,a,Rx,data,123,2,3,0,0,1122\n", "the length 3 is not that of DLC 2, 2"),
        ("1,unix,a,Rx,fd,123,2,2,2,0,1122\n", "a bit is 0 or 1, not \"2\""),
        ("1,unix,a,Rx,data,123,2,2,0,0\n", "10 columns, not 11"),
        ("1,unix,\"a,Rx\n", "a quote is not closed"),
    ] {
        let end = read_all(Format::Csv, format!("{HEADER}\n{text}").as_bytes()).2;
        assert_eq!(end, Err(format!("line 2: {wanted}")), "{text:?}");
    }
}

#[test]
fn columns_of_signals_are_left_out() {
    let text = format!(
        "{HEADER},\"A,B.C\",\"A,B.C_raw\"\n1,start,a,Rx,data,123,1,1,0,0,11,0.5,1\n2,start,a,,data,124,0,0,0,0,,,\n"
    );
    let (found, skipped, end) = read_all(Format::Csv, text.as_bytes());
    assert_eq!(
        (texts(&found), end),
        (vec!["0.000000001 a 123#11 Rx".to_owned(), "0.000000002 a 124#".to_owned()], Ok(()))
    );
    assert_eq!(skipped.iter().collect::<Vec<_>>(), [("columns of signals left out", 2)]);
    let end = read_all(Format::Csv, format!("{HEADER},A.B\n1,start,a,Rx,data,123,1,1,0,0,11\n").as_bytes()).2;
    assert_eq!(end, Err("line 2: 11 columns, not 12".to_owned()));
    let (_, skipped, end) = read_all(Format::Csv, format!("{HEADER},A.B,A.").as_bytes());
    assert_eq!((skipped.iter().count(), end), (0, Err("line 1: the file ends within a line".to_owned())));
    let end = read_all(Format::Csv, format!("{HEADER}x\n").as_bytes()).2.unwrap_err();
    assert!(end.contains("do not begin with"), "{end}");
}
