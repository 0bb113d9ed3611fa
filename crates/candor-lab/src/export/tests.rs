//! Each form contains the frames of the records.

use std::fs;
use std::fs::File;

use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
use ::parquet::record::Field;
use serde_json::Value;

use super::*;
use crate::record::{Disposition, Inside, Sample, tests::header};

const LEVELS: [(&str, &str); 2] = [("traffic", "16 every 10ms, twice"), ("load", "cpu 20")];

fn record(samples: u32) -> Record {
    let sample = |sequence: u32| {
        let far_ns = (sequence != 1).then(|| 1000 * i64::from(sequence) + 8550);
        let monitor_ns = Some(1000 * i64::from(sequence) + 40);
        let disposition = Disposition::of_stamps(monitor_ns, far_ns);
        let due_ns = 1000 * i64::from(sequence) - 10;
        let read_ns = far_ns.map(|far_ns| far_ns + 50);
        let inside = Inside { queued_ns: Some(due_ns + 25), handed_ns: None, read_ns };
        Sample { sequence, tag: 7, due_ns, sent_ns: due_ns + 20, monitor_ns, far_ns, inside, wire_ns: 110, disposition }
    };
    Record { header: header("mine", "kernel"), samples: (0..samples).map(sample).collect() }
}

/// Two records; the second one has no level of the first factor.
fn written(form: Form) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames");
    let levels = LEVELS.map(|(factor, level)| (factor.to_owned(), level.to_owned()));
    let factors = LEVELS.map(|(factor, _)| factor.to_owned());
    let mut file = form.begin(File::create(&path).unwrap(), &factors).unwrap();
    file.add(Origin { cell: "one", state: "ok", levels: &levels }, &record(2)).unwrap();
    file.add(Origin { cell: "two", state: "invalid", levels: &levels[1..] }, &record(1)).unwrap();
    file.finish().unwrap();
    (folder, path)
}

#[test]
fn csv_has_a_header_and_a_line_for_each_frame() {
    let (_folder, path) = written(Form::Csv);
    let wanted = "\
        cell,state,device,engine,kernel_release,traffic,load,instruction_ns,sequence,tag,due_ns,sent_ns,queued_ns,handed_ns,\
        monitor_ns,far_ns,read_ns,wire_ns,service_ns,response_ns,disposition\n\
        one,ok,mine,kernel,6.1.0-56-amd64,\"16 every 10ms, twice\",cpu 20,1,0,7,-10,10,15,,40,8550,8600,110,8400,8450,ok\n\
        one,ok,mine,kernel,6.1.0-56-amd64,\"16 every 10ms, twice\",cpu 20,1,1,7,990,1010,1015,,1040,,,110,,,lost\n\
        two,invalid,mine,kernel,6.1.0-56-amd64,,cpu 20,1,0,7,-10,10,15,,40,8550,8600,110,8400,8450,ok\n";
    assert_eq!(fs::read_to_string(path).unwrap(), wanted);
}

#[test]
fn json_lines_match_csv() {
    let (_folder, path) = written(Form::JsonLines);
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[0]["service_ns"], &lines[0]["traffic"]), (&8400.into(), &LEVELS[0].1.into()));
    assert_eq!((&lines[1]["far_ns"], &lines[1]["disposition"]), (&Value::Null, &"lost".into()));
    assert_eq!((&lines[2]["cell"], &lines[2]["traffic"]), (&"two".into(), &"".into()));
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let (_folder, csv) = written(Form::Csv);
    let csv = fs::read_to_string(csv).unwrap();
    let mut head: Vec<_> = csv.lines().next().unwrap().split(',').map(str::to_owned).collect();
    head.sort_unstable();
    assert_eq!(keys(&lines[0]), head);
}

#[test]
fn parquet_can_be_read() {
    let (_folder, path) = written(Form::Parquet);
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    assert_eq!(reader.num_row_groups(), 2);
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    let column = |row: usize, name: &str| {
        rows[row].get_column_iter().find(|(known, _)| *known == name).map(|(_, field)| field.clone()).unwrap()
    };
    assert_eq!(rows.len(), 3);
    assert_eq!(column(0, "service_ns"), Field::Long(8400));
    assert_eq!(column(1, "far_ns"), Field::Null);
    assert_eq!(column(1, "disposition"), Field::Str("lost".to_owned()));
    assert_eq!(column(0, "traffic"), Field::Str(LEVELS[0].1.to_owned()));
    assert_eq!((column(2, "traffic"), column(2, "due_ns")), (Field::Str(String::new()), Field::Long(-10)));
}

/// 10 000 frames, as in a plan: far smaller than the text of the record.
#[test]
fn parquet_packs_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames");
    let mut file = Form::Parquet.begin(File::create(&path).unwrap(), &[]).unwrap();
    let large = record(10_000);
    file.add(Origin { cell: "one", state: "ok", levels: &[] }, &large).unwrap();
    file.finish().unwrap();
    let (packed, text) = (fs::metadata(path).unwrap().len(), large.to_text().len() as u64);
    assert!(packed * 4 < text, "{packed} of {text} bytes");
}

#[test]
fn full_disk_is_reported() {
    for form in [Form::Csv, Form::JsonLines, Form::Parquet] {
        let out = File::options().write(true).open("/dev/full").unwrap();
        let result = form.begin(out, &[]).and_then(|mut file| {
            file.add(Origin { cell: "one", state: "ok", levels: &[] }, &record(5000))?;
            file.finish()
        });
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull, "{form:?}");
    }
}
