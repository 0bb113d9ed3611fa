use std::fs;
use std::path::PathBuf;

use super::*;

fn args(input: &Path, output: &Path) -> ConvertArgs {
    ConvertArgs { input: input.to_owned(), output: output.to_owned(), from: None, to: None, decode: None, json: false }
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into()).collect();
    names.sort();
    names
}

const LOG: &str = "(1700000000.000001) can0 123#1122\n(1700000000.000002003) body 12345678##5AABB T\n";

#[test]
fn a_log_becomes_a_capture_and_a_log_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.log"), LOG).unwrap();
    fs::write(at("b.pcapng"), "what was there before").unwrap();
    assert_eq!(run(&args(&at("a.log"), &at("b.pcapng"))).unwrap(), Exit::Fine);
    assert_eq!(run(&args(&at("b.pcapng"), &at("c.log"))).unwrap(), Exit::Fine);
    assert_eq!(fs::read_to_string(at("c.log")).unwrap(), LOG);
    assert_eq!(names(folder.path()), ["a.log", "b.pcapng", "c.log"].map(PathBuf::from));
}

#[test]
fn a_cut_recording_is_converted_up_to_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.log"), format!("{LOG}(1700000000.0")).unwrap();
    assert_eq!(run(&args(&at("a.log"), &at("b.log"))).unwrap(), Exit::No);
    assert_eq!(fs::read_to_string(at("b.log")).unwrap(), LOG);
}

#[test]
fn a_failure_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("b.log"), "old").unwrap();
    let failed = |args: &ConvertArgs, wanted: &str| {
        let error = run(args).unwrap_err();
        let text = format!("{error}: {}", error.source().map(ToString::to_string).unwrap_or_default());
        assert!(text.contains(wanted), "{text}");
    };
    failed(&args(&at("none.log"), &at("b.log")), "cannot open");
    failed(&args(folder.path(), &at("b.log")), "add --from, one of candump, pcapng, ");
    let of_folder = ConvertArgs { from: Some(Format::Candump), ..args(folder.path(), &at("b.log")) };
    failed(&of_folder, "cannot read");
    failed(&args(&at("b.log"), &at("b.log")), "is IN and OUT");
    failed(&args(&at("b.log"), &at("none/b.log")), "cannot write");
    assert_eq!(fs::read_to_string(at("b.log")).unwrap(), "old");
    assert_eq!(names(folder.path()), [PathBuf::from("b.log")]);
}

const DATABASE: &str = "\
BO_ 291 Motor: 4 ECU
 SG_ Speed : 0|16@1+ (0.5,-10) [0|0] \"rpm\" X
 SG_ Mode M : 16|8@1+ (1,0) [0|0] \"\" X
 SG_ Warm m1 : 24|8@1- (2,0) [0|0] \"\" X
BO_ 2443335288 Other: 8 ECU
 SG_ All : 0|64@1+ (1,0) [0|0] \"\" X
";

#[test]
fn signals_of_a_database_become_columns() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("car.dbc"), DATABASE).unwrap();
    let log = "(1.000000) can0 123#640001FF\n(1.000001) can0 123#640002FF R\n(1.000002) can0 11A25678#FFFFFFFFFFFFFFFF\n\
               (1.000003) can0 124#\n(1.000004) can0 123#R4\n";
    fs::write(at("a.log"), log).unwrap();
    let to = |name: &str| ConvertArgs { decode: Some(at("car.dbc")), ..args(&at("a.log"), &at(name)) };
    assert_eq!(run(&to("a.csv")).unwrap(), Exit::Fine);
    insta::assert_snapshot!(fs::read_to_string(at("a.csv")).unwrap(), @r"
    time_ns,clock,bus,direction,kind,id,dlc,length,brs,esi,data,Motor.Speed,Motor.Speed_raw,Motor.Mode,Motor.Mode_raw,Motor.Warm,Motor.Warm_raw,Other.All,Other.All_raw
    1000000000,start,can0,,data,123,4,4,0,0,640001FF,40,100,1,1,-2,-1,,
    1000001000,start,can0,Rx,data,123,4,4,0,0,640002FF,40,100,2,2,,,,
    1000002000,start,can0,,data,11A25678,8,8,0,0,FFFFFFFFFFFFFFFF,,,,,,,18446744073709552000,18446744073709551615
    1000003000,start,can0,,data,124,0,0,0,0,,,,,,,,,
    1000004000,start,can0,,remote,123,4,4,0,0,,,,,,,,,
    ");
    assert_eq!(run(&to("a.parquet")).unwrap(), Exit::Fine);
    assert_eq!(fs::read(at("a.parquet")).unwrap()[..4], *b"PAR1");
    let error = run(&to("a.asc")).unwrap_err().to_string();
    assert!(error.starts_with("Vector ASC has no columns for signals"), "{error}");
}

#[test]
fn what_is_no_recording_is_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("empty.log"), "").unwrap();
    fs::write(at("notes.asc"), "import os\n").unwrap();
    fs::write(at("drive.log.gz"), [0x1F, 0x8B, 8, 0]).unwrap();
    fs::write(at("drive.blf"), [0x0A, 0x0D, 0x0D, 0x0A, 0]).unwrap();
    let refused = |name: &str, wanted: &str| {
        let error = run(&args(&at(name), &at("out.pcapng"))).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    };
    refused("empty.log", "empty.log is empty");
    refused("notes.asc", "line 1: \"import os\" is neither a header nor an event of Vector ASC");
    refused("drive.log.gz", "is compressed with gzip; unpack it on the way: zcat ");
    refused("drive.log.gz", "| candor-lab convert --from candump - ");
    refused("drive.blf", "; it begins as pcapng: try --from pcapng");
    assert_eq!(names(folder.path()).len(), 4);
}

#[test]
fn columns_of_signals_are_read_past() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("car.dbc"), DATABASE).unwrap();
    fs::write(at("a.log"), LOG).unwrap();
    let decoded = ConvertArgs { decode: Some(at("car.dbc")), ..args(&at("a.log"), &at("a.csv")) };
    assert_eq!(run(&decoded).unwrap(), Exit::Fine);
    assert_eq!(run(&args(&at("a.csv"), &at("b.log"))).unwrap(), Exit::Fine);
    assert_eq!(fs::read_to_string(at("b.log")).unwrap(), LOG);
}

/// An ASC file that is cut anywhere is told from a whole one.
#[test]
fn every_cut_of_an_asc_file_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.log"), LOG).unwrap();
    assert_eq!(run(&args(&at("a.log"), &at("a.asc"))).unwrap(), Exit::Fine);
    let whole = fs::read(at("a.asc")).unwrap();
    let first_frame = 1 + whole.windows(2).position(|pair| pair == b"d ").unwrap();
    for cut in 0..whole.len() - 1 {
        fs::write(at("cut.asc"), &whole[..cut]).unwrap();
        match run(&args(&at("cut.asc"), &at("out.log"))) {
            Ok(exit) => assert_eq!((exit, cut > first_frame), (Exit::No, true), "{cut} bytes"),
            Err(error) => assert!(!error.to_string().is_empty(), "{cut} bytes"),
        }
    }
}
