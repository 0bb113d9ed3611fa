//! Recordings, converted by the programs as they are released.

use std::fmt::Write as _;

use super::*;

/// Rows of a row group.
const GROUP: usize = 65_536;

/// The library panics on this table, and a panic ends a released program: `panic = "abort"`.
#[test]
#[ignore = "needs released programs"]
fn a_table_is_converted_at_night_up_to_where_its_library_panics() {
    let Some(lab) = Lab::find() else { return };
    let mut log = String::new();
    for at in 0..GROUP + 10 {
        writeln!(log, "(0.{at:06}) can0 123#1122").unwrap();
    }
    let (log, table, back) = (lab.write("in.log", &log), lab.at("a.parquet"), lab.at("back.log"));
    lab.call(&["convert", &log, &table]).exits_with(0);

    let mut bytes = fs::read(&table).unwrap();
    // Differences of times begin with the size of a block, 256, and its parts, 4. The library panics on a number that does not end.
    let begin = bytes.windows(3).rposition(|part| part == [0x80, 0x02, 4]).unwrap();
    bytes[begin..begin + 16].fill(0xFF);
    fs::write(&table, bytes).unwrap();

    lab.call(&["convert", &table, &back]).exits_with(1).reports(&format!("ends at row {}: the library", GROUP + 1));
    assert_eq!(fs::read_to_string(&back).unwrap().lines().count(), GROUP);
}
