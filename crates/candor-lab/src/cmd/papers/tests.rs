//! Verdicts on all claims for generated numbers.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::data::{self, Figure, Paper};
use super::experiment;
use super::measurement::Measurement;
use super::method::Extent;
use super::pages;

#[test]
fn figures_have_unique_ids() {
    let papers = data::load().unwrap();
    let names: Vec<_> = papers.iter().flat_map(|paper| &paper.figures).map(|figure| &figure.id).collect();
    assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
}

/// Only numbers and verdicts: the texts may change.
#[test]
fn verdicts_follow_from_numbers() {
    let mut text = String::new();
    for paper in data::load().unwrap() {
        for figure in &paper.figures {
            let page = pages::of(&paper, figure, &generated(&paper, figure), Extent::WHOLE).unwrap();
            for line in page.claims {
                let ours: Vec<_> = line.ours.iter().map(|seen| seen.value.as_str()).collect();
                writeln!(text, "{}: {} => {}", figure.id, ours.join(", "), line.verdict).unwrap();
            }
        }
    }
    insta::assert_snapshot!(text);
}

fn generated(paper: &Paper, figure: &Figure) -> Measurement {
    let experiment = paper.experiment(figure).unwrap();
    if let Some(text) = experiment.plan_text(Extent::WHOLE) {
        return Measurement::planned(&experiment::plan(&text).unwrap()).filled(number);
    }
    let answers = Extent::WHOLE.kernels.iter().map(|kernel| {
        let mut answer = json!({});
        let measured = Measurement::unanswered(&paper.answers);
        let terms = figure.numbers.iter().map(|(_, term)| term.get_ref());
        for term in terms.chain(figure.claims.iter().flat_map(|claim| claim.quantity().terms())) {
            put(&mut answer, &measured.path(term).unwrap(), number(&format!("{kernel}{term:?}")));
        }
        ((*kernel).to_owned(), answer)
    });
    Measurement::answered(paper.answers.clone(), answers.collect())
}

/// 1000 to 2999, derived from a name.
fn number(name: &str) -> u32 {
    1000 + name.bytes().fold(7, |sum: u32, byte| (sum * 31 + u32::from(byte)) % 2000)
}

/// The counterpart of [`at`](super::method::at).
fn put(mut value: &mut Value, path: &str, number: u32) {
    for step in path.split('/') {
        let Some((key, wanted)) = step.split_once('=') else {
            value = value.as_object_mut().unwrap().entry(step).or_insert(json!({}));
            continue;
        };
        let (wanted, nth) = wanted.split_once('#').unwrap_or((wanted, "1"));
        if !value.is_array() {
            *value = json!([]);
        }
        let list = value.as_array_mut().unwrap();
        let found = |list: &[Value]| {
            let all = list.iter().enumerate().filter(|(_, one)| one[key].to_string().trim_matches('"') == wanted);
            all.map(|(at, _)| at).nth(nth.parse::<usize>().unwrap() - 1)
        };
        while found(list).is_none() {
            list.push(json!({ key: wanted }));
        }
        let at = found(list).unwrap();
        value = &mut list[at];
    }
    *value = number.into();
}
