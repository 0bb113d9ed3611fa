//! The data set ROAD: logs of candump in `ambient` and `attacks`, and the labels of the attacks in `capture_metadata.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use candor_learn::Recorded;
use candor_learn::detect::{Capture, Label, LabelError, Rules};
use serde::Deserialize;

use super::{Row, Table, about};
use crate::cmd::learn::log::{Log, LogFileError, identifier};
use crate::cmd::patience;

const LABELS: &str = "capture_metadata.json";

#[derive(Debug, thiserror::Error)]
pub(super) enum RoadError {
    #[error("cannot read {path}; ROAD has the directories ambient and attacks", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} has no logs (*.log); ROAD has them in ambient and attacks", path = path.display())]
    NoLogs { path: PathBuf },
    #[error("cannot use {path}", path = path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("cannot use {path}, capture {capture}: {error}", path = path.display())]
    Label { path: PathBuf, capture: String, error: LabelError },
    #[error(transparent)]
    Log(#[from] LogFileError),
}

/// A capture in the file of labels; other keys (description, elapsed_sec, on_dyno, modified) are not needed.
#[derive(Debug, Deserialize)]
struct Metadata {
    injection_id: Option<String>,
    injection_data_str: Option<String>,
    injection_interval: Option<[f64; 2]>,
}

pub(super) fn table(folder: &Path) -> Result<Table, RoadError> {
    let (ambient, attacks) = (folder.join("ambient"), folder.join("attacks"));
    let path = attacks.join(LABELS);
    let text = fs::read(&path).map_err(|source| RoadError::Read { path: path.clone(), source })?;
    let labels: BTreeMap<String, Metadata> =
        serde_json::from_slice(&text).map_err(|source| RoadError::Json { path: path.clone(), source })?;
    let usual = patience::each("logs of ambient", &logs(&ambient)?, |path| read(path));
    let usual = usual.into_iter().collect::<Result<Vec<_>, _>>()?;
    let rules = patience::each("learned rules", &[()], |()| Rules::learn(&usual)).remove(0);
    let span = |log: &Vec<Recorded>| Some(log.last()?.at_ns - log.first()?.at_ns);
    let seconds: f64 = usual.iter().filter_map(span).map(|span| span as f64 / 1e9).sum();

    let mut rows = vec![Row::default()];
    for frames in usual {
        let is_attack = vec![false; frames.len()];
        rows[0].add(&Capture { frames, is_attack, interval_ns: None }, &rules);
    }
    let mut left_out = Vec::new();
    let found = patience::each("captures of attacks", &logs(&attacks)?, |log| {
        let name = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let label = match labels.get(&name) {
            None => return Ok(Err(format!("{name}: {LABELS} does not name it"))),
            Some(Metadata { injection_interval: None, .. }) => {
                return Ok(Err(format!("{name}: {LABELS} has no injection_interval for it")));
            }
            Some(Metadata { injection_interval: Some(interval), injection_id, injection_data_str }) => {
                let id = injection_id.as_deref().unwrap_or("XXX");
                Label::new(*interval, id, injection_data_str.as_deref()).map_err(|error| RoadError::Label {
                    path: path.clone(),
                    capture: name.clone(),
                    error,
                })?
            }
        };
        let mut row = Row { name: Some(name), ..Row::default() };
        row.add(&labelled(read(log)?, &label), &rules);
        Ok::<_, RoadError>(Ok(row))
    });
    for one in found {
        match one? {
            Ok(row) => rows.push(row),
            Err(why) => left_out.push(why),
        }
    }
    Ok(Table { about: format!("{}: {}", folder.display(), about(&rules, seconds)), rows, left_out })
}

fn labelled(frames: Vec<Recorded>, label: &Label) -> Capture {
    let start = frames.first().map_or(0, |first| first.at_ns);
    let is_attack = frames.iter().map(|frame| label.is_attack(frame, start)).collect();
    let (from, to) = label.interval_ns;
    Capture { frames, is_attack, interval_ns: Some((start + from, start + to)) }
}

/// The logs of a directory, by name.
fn logs(folder: &Path) -> Result<Vec<PathBuf>, RoadError> {
    let wrong = |source| RoadError::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_some_and(|ending| ending == "log") {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() { Err(RoadError::NoLogs { path: folder.to_owned() }) } else { Ok(found) }
}

fn read(path: &Path) -> Result<Vec<Recorded>, LogFileError> {
    let log = Log::read(path, None)?;
    let frame = |one: &crate::cmd::learn::log::Recorded| Recorded {
        at_ns: one.at_ns,
        id: identifier(one.frame.id).0,
        is_remote: one.frame.id.is_rtr(),
        payload: one.frame.payload().to_vec(),
    };
    Ok(log.frames.iter().map(frame).collect())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use candor_learn::detect::{Attack, Car, Rule};
    use candor_learn::name;

    use super::*;

    fn written(path: &Path, frames: &[Recorded]) {
        let mut text = String::new();
        for one in frames {
            let (seconds, micros) = (one.at_ns / 1_000_000_000, one.at_ns % 1_000_000_000 / 1000);
            let data: String = one.payload.iter().map(|byte| format!("{byte:02X}")).collect();
            writeln!(text, "({}.{micros:06}) can0 {}#{data}", 1_500_000_000 + seconds, name(one.id)).unwrap();
        }
        fs::write(path, text).unwrap();
    }

    /// A directory as ROAD has it, with traffic of a car that does not exist.
    #[test]
    fn labels_of_road_are_used() {
        let folder = tempfile::tempdir().unwrap();
        let road = folder.path();
        let wrong = |part: &str| {
            let error = table(road).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        wrong("capture_metadata.json; ROAD has");
        for part in ["ambient", "attacks"] {
            fs::create_dir(road.join(part)).unwrap();
        }
        let labels = r#"{
            "max_speedometer_attack_1": {"description": "d", "elapsed_sec": 20.0, "injection_data_str": "XXXXXXXXXXXXXXFF",
                "injection_id": "0x120", "injection_interval": [8.0, 12.0], "modified": false, "on_dyno": true},
            "accelerator_attack_drive_1": {"description": "d", "elapsed_sec": 2.0, "injection_data_str": null,
                "injection_id": null, "injection_interval": null, "modified": false, "on_dyno": true}}"#;
        let path = road.join("attacks").join(LABELS);
        fs::write(&path, "{").unwrap();
        wrong("cannot use ");
        fs::write(&path, labels.replace("0x120", "engine")).unwrap();
        wrong("has no logs (*.log)");
        let mut car = Car::new(4);
        written(&road.join("ambient/ambient_dyno_drive_basic_short.log"), &car.drive(60));
        let traffic = car.drive(20);
        let start = traffic[0].at_ns;
        let at = |second: u64| start + second * 1_000_000_000;
        let mut attack = Attack::Injection.on(&traffic, 0x120, (at(8), at(12)), 1);
        for (frame, is_attack) in attack.frames.iter_mut().zip(&attack.is_attack) {
            if *is_attack {
                frame.payload[7] = 0xFF;
            }
        }
        written(&road.join("attacks/max_speedometer_attack_1.log"), &attack.frames);
        written(&road.join("attacks/accelerator_attack_drive_1.log"), &traffic[..100]);
        wrong("injection_id \"engine\" is neither");
        fs::write(&path, labels).unwrap();
        let table = table(road).unwrap();
        assert_eq!(
            table.left_out,
            ["accelerator_attack_drive_1: capture_metadata.json has no injection_interval for it"]
        );
        let [usual, row] = &table.rows[..] else { panic!("{table:?}") };
        assert_eq!((usual.name.as_deref(), usual.frames), (None, 0));
        assert_eq!((row.name.as_deref(), row.runs), (Some("max_speedometer_attack_1"), 1));
        assert!((395..=410).contains(&row.frames), "{row:?}");
        let detected: Vec<_> = Rule::ALL
            .iter()
            .zip(&row.cells)
            .filter(|(_, cell)| cell.detected > 0)
            .map(|(rule, _)| rule.name())
            .collect();
        assert_eq!(detected, ["min-gap", "rate", "check"]);
    }
}
