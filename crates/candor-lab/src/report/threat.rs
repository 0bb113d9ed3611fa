//! Threats to the validity of a record, each with advice.

use candor_cli::gateway_file::plural;

use crate::record::{Record, Sample};
use crate::stats::warm_up::{WINDOW, frames_to_drop};
use crate::stats::{CONFIDENCE, Quantile, TooFew};

/// Successive differing windows that count as a warm-up. Each window of a steady run differs by chance once in 20.
const WINDOWS_IN_A_ROW: usize = 4;

pub fn threats(record: &Record) -> Vec<String> {
    let (header, samples) = (&record.header, &record.samples);
    let count = |wanted: fn(&Sample) -> bool| samples.iter().filter(|sample| wanted(sample)).count();
    let measured = count(|sample| sample.latency().is_some());
    let lost = count(|sample| sample.is_missing());
    let mut threats = Vec::new();
    if header.testbed == "uml" {
        threats.push(
            "Times in user-mode Linux are meaningless: measure with the icount laboratory or on hardware".to_owned(),
        );
    }
    if lost > 0 && measured == 0 {
        let advice = "does a gateway forward between the two buses? Between virtual interfaces it needs echo";
        threats.push(format!("no frame arrived: {advice}"));
    }
    let counted = [
        (if measured > 0 { lost } else { 0 }, "lost: the figures hold for those that arrived"),
        (
            count(|sample| sample.far_ns.is_some() && sample.monitor_ns.is_none()),
            "without a stamp on the monitor: check that the monitor is on the sender's bus",
        ),
        (
            count(|sample| sample.latency().is_some_and(|latency| latency.0 < 0)),
            "with a latency below zero: a rule keeps timestamps, or frame time was subtracted on a bus where frames take \
             none",
        ),
        (
            header.late_or_duplicate_frames as usize,
            "arrived twice or after the timeout: look for two rules that forward the same frame",
        ),
        (
            header.overlapped_frames as usize,
            "sent while the frame before was still in flight, which delayed it: raise --gap-min",
        ),
        (header.foreign_frames as usize, "of other senders on the far side: keep them off both buses"),
    ];
    threats.extend(
        counted
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, text)| format!("{} {text}", plural(*count, "frame"))),
    );
    if let Some(too_few) = TooFew::for_interval(measured, Quantile::P99, CONFIDENCE).filter(|_| measured > 0) {
        threats.push(format!("{too_few}: measure more frames"));
    }
    threats.extend(warming_up(samples));
    threats.extend(header.warnings.iter().cloned());
    threats
}

fn warming_up(samples: &[Sample]) -> Option<String> {
    let latencies: Vec<_> = samples.iter().map(Sample::latency).collect();
    let drop = frames_to_drop(&latencies);
    let all = latencies.len();
    // The first window has none before it.
    let differing = (drop.unwrap_or(all) / WINDOW).saturating_sub(1);
    (differing >= WINDOWS_IN_A_ROW).then(|| match drop {
        Some(frames) => {
            format!("steady only after {frames} of the frames that count: raise the warm-up, or look for the cause")
        }
        None => format!("never steady in {all} frames: send more, or look for the cause"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::record;
    use super::*;

    fn threats_of(latencies: &[Option<i64>]) -> Vec<String> {
        threats(&record("kernel", "kernel", latencies))
    }

    #[test]
    fn clean_record_has_no_threats() {
        assert_eq!(threats_of(&[Some(1); 400]), Vec::<String>::new());
    }

    #[test]
    fn record_without_any_frame_has_one_threat() {
        let found = threats_of(&[None, None]);
        assert!(found.len() == 1 && found[0].starts_with("no frame arrived"), "{found:?}");
    }

    #[test]
    fn run_that_gets_faster_was_not_warm() {
        let falling = |until: i64| {
            let latencies = (0..5000).map(|at| Some(8000 + 2 * (until - at).max(0) + at % 7));
            threats_of(&latencies.collect::<Vec<_>>())
        };
        assert_eq!(falling(0), Vec::<String>::new());
        assert_eq!(falling(700), Vec::<String>::new(), "windows differ by chance, too");
        let wanted = "steady only after 3500 of the frames that count: raise the warm-up, or look for the cause";
        assert_eq!(falling(2600), [wanted]);
        assert_eq!(falling(9000), ["never steady in 5000 frames: send more, or look for the cause"]);
    }

    #[test]
    fn each_threat_is_found() {
        let mut bad = record("kernel", "kernel", &[Some(-1), None, Some(4)]);
        bad.samples[2].monitor_ns = None;
        bad.header.testbed = "uml".into();
        bad.header.foreign_frames = 3;
        bad.header.late_or_duplicate_frames = 2;
        bad.header.overlapped_frames = 1;
        bad.header.warnings.push("Memory could not be locked".into());
        let wanted = [
            "Times in user-mode Linux",
            "1 frame lost",
            "1 frame without a stamp",
            "1 frame with a latency below zero",
            "2 frames arrived twice",
            "1 frame sent while",
            "3 frames of other senders",
            "n too small: p99 needs 368 frames, there are 1: measure more frames",
            "Memory could not be locked",
        ];
        let found = threats(&bad);
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(wanted).all(|(found, wanted)| found.starts_with(wanted)), "{found:#?}");
    }
}
