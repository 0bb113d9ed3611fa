//! The cells of a plan and their state, as a table and as JSON.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use candor_egress::policy::FrameRate;
use candor_lab::cells::State;
use candor_lab::experiment::{self, Available, Plan};
use candor_lab::report::{Cell, Measured};
use candor_lab::stats::throughput::{self, Throughput};
use serde::Serialize;

pub(in crate::cmd) use super::progress::in_words;
use super::results::{Results, ResultsError};
use candor_lab::record::Record;

/// Existing results and their plan.
pub(in crate::cmd) fn open(folder: &Path) -> Result<(Results, Plan), Box<dyn std::error::Error>> {
    let (results, bytes) = Results::existing(folder)?;
    let load = |available| {
        experiment::load(&bytes, available)
            .map(|loaded| loaded.plan)
            .map_err(|_findings| format!("{}: this version of candor cannot use plan.toml", folder.display()))
    };
    let plan = load(Available::default())?;
    if plan.replays().is_empty() {
        return Ok((results, plan));
    }
    let logs = results.logs(&plan.replays())?;
    let plan = load(Available { kernels: None, logs: Some(&logs) })?;
    Ok((results, plan))
}

#[derive(Clone, Debug)]
pub(in crate::cmd) struct Found {
    pub(in crate::cmd) name: String,
    /// Includes the repeat if the plan has several.
    pub(in crate::cmd) levels: Vec<(String, String)>,
    /// `None` if it has not been measured.
    pub(in crate::cmd) state: Option<State>,
    pub(in crate::cmd) record: Option<PathBuf>,
}

/// These cells, in the order of the plan, as found in these blocks.
pub(in crate::cmd) fn find(
    plan: &Plan,
    wanted: &[&experiment::Cell],
    blocks: &[String],
    results: &Results,
) -> Result<Vec<Found>, ResultsError> {
    let mut known: HashMap<String, Option<(&str, State)>> = wanted.iter().map(|cell| (cell.name(plan), None)).collect();
    for block in blocks {
        for cell in results.measured(block)?.into_iter().flat_map(|measured| measured.cells) {
            known.entry(cell.name).and_modify(|found| *found = Some((block, cell.state)));
        }
    }
    let has_repeats = plan.cells().iter().any(|cell| cell.repeat > 1);
    let found = |cell: &experiment::Cell| {
        let name = cell.name(plan);
        let found = known.remove(&name)?;
        let levels = cell.levels().map(|(factor, level)| (factor.to_owned(), level)).into_iter();
        let repeat = has_repeats.then(|| ("repeat".to_owned(), cell.repeat.to_string()));
        let has_record = |state: &State| !matches!(state, State::Failed(_));
        let record =
            found.as_ref().filter(|(_, state)| has_record(state)).map(|(block, _)| results.record(block, &name));
        Some(Found { name, levels: levels.chain(repeat).collect(), state: found.map(|(_, state)| state), record })
    };
    Ok(plan.cells().iter().filter_map(found).collect())
}

/// All cells of a plan, in any block: another version of candor may divide them differently.
pub(in crate::cmd) fn find_all(plan: &Plan, results: &Results) -> Result<Vec<Found>, ResultsError> {
    find(plan, &plan.cells().iter().collect::<Vec<_>>(), &results.blocks()?, results)
}

pub(in crate::cmd) fn read(found: &[Found]) -> Result<Vec<Cell>, Box<dyn std::error::Error>> {
    let one = |Found { name, levels, state, record }: &Found| -> Result<Cell, Box<dyn std::error::Error>> {
        let read = |path: &PathBuf| -> Result<Measured, Box<dyn std::error::Error>> {
            let block = path.parent().unwrap_or(path).display();
            let remedy = |error| format!("{error}; remove the directory {block} to measure it again");
            Ok(Measured::of(&Record::read(path).map_err(remedy)?))
        };
        let measured = record.as_ref().map(read);
        Ok(Cell { name: name.clone(), levels: levels.clone(), state: state.clone(), measured: measured.transpose()? })
    };
    found.iter().map(one).collect()
}

pub(in crate::cmd) fn missing(cells: &[Cell]) -> usize {
    cells.iter().filter(|cell| cell.state.is_none()).count()
}

pub(in crate::cmd) fn text(cells: &[Cell], results: &Results) -> String {
    let mut text = table(cells);
    let found = cells.iter().filter_map(|cell| Some((cell, cell.measured.as_ref()?.found()?)));
    for (at, (cell, throughput::Found { ndr, pdr })) in found.enumerate() {
        let break_before = if at == 0 { "\n" } else { "" };
        let name = in_words(&cell.levels);
        text += &format!("{break_before}{name}: {ndr} without loss, {pdr} with at most 0.5 % lost\n");
    }
    let count = |wanted: fn(&State) -> bool| {
        cells.iter().filter_map(|cell| cell.state.as_ref()).filter(|state| wanted(state)).count()
    };
    text + &format!(
        "\n{} ok, {} invalid, {} failed, {} missing; {:.1} MB in {}\n",
        count(|state| *state == State::Ok),
        count(|state| matches!(state, State::Invalid(_))),
        count(|state| matches!(state, State::Failed(_))),
        missing(cells),
        results.bytes() as f64 / 1e6,
        results.folder().display()
    )
}

fn table(cells: &[Cell]) -> String {
    let cells: Vec<(&Cell, &State, String)> =
        cells.iter().filter_map(|cell| Some((cell, cell.state.as_ref()?, in_words(&cell.levels)))).collect();
    let width = cells.iter().map(|(_, _, name)| name.len()).max().unwrap_or_default().max("cell".len());
    let mut text = format!(
        "{:<width$}{:>9}{:>8}{:>13}{:>13}{:>13}  state\n",
        "cell", "frames", "lost", "p50/us", "p99/us", "max/us"
    );
    for (cell, state, name) in &cells {
        let state = match state {
            State::Invalid(why) => format!("invalid: {why}"),
            State::Failed(why) => format!("failed: {why}"),
            _ => "ok".to_owned(),
        };
        let measured = cell.measured.as_ref();
        let (frames, lost) = measured.map_or((0, 0), |measured| (measured.frames, measured.lost()));
        let [p50, p99, max] = ["p50", "p99", "max"].map(|figure| {
            let latency = measured.and_then(|measured| measured.figures?.named(figure));
            latency.map_or_else(|| "-".to_owned(), |latency| format!("{:.3}", latency.microseconds()))
        });
        text += &format!("{name:<width$}{frames:>9}{lost:>8}{p50:>13}{p99:>13}{max:>13}  {state}\n");
    }
    text
}

pub(in crate::cmd) type Levels<'a> = BTreeMap<&'a str, &'a str>;

pub(in crate::cmd) fn levels_view(levels: &[(String, String)]) -> Levels<'_> {
    levels.iter().map(|(factor, level)| (&**factor, &**level)).collect()
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct CellView<'a> {
    name: &'a str,
    /// With `repeat` if the plan has several.
    levels: Levels<'a>,
    state: &'a State,
    frames: usize,
    lost: usize,
    /// `null` if no frame arrived.
    p50_ns: Option<i64>,
    p90_ns: Option<i64>,
    p99_ns: Option<i64>,
    max_ns: Option<i64>,
    /// `null` without a search, or if even the lowest rate failed.
    no_loss_frames_per_s: Option<u32>,
    partial_loss_frames_per_s: Option<u32>,
}

pub(in crate::cmd) fn views<'a>(cells: &'a [Cell]) -> Vec<CellView<'a>> {
    let passes = |throughput: Throughput| throughput.rate().map(FrameRate::frames_per_second);
    let one = |Cell { name, levels, state, measured }: &'a Cell| {
        let ns = |figure| measured.as_ref()?.figures?.named(figure).map(|latency| latency.0);
        let found = measured.as_ref().and_then(Measured::found);
        Some(CellView {
            name,
            levels: levels_view(levels),
            state: state.as_ref()?,
            frames: measured.as_ref().map_or(0, |measured| measured.frames),
            lost: measured.as_ref().map_or(0, Measured::lost),
            p50_ns: ns("p50"),
            p90_ns: ns("p90"),
            p99_ns: ns("p99"),
            max_ns: ns("max"),
            no_loss_frames_per_s: found.and_then(|found| passes(found.ndr)),
            partial_loss_frames_per_s: found.and_then(|found| passes(found.pdr)),
        })
    };
    cells.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::results::HEAD;
    use super::super::results::{Measured as Block, MeasuredCell};
    use super::*;

    const PLAN: &[u8] = b"repeats = 2\n[factor]\ngateway = [\"none\", \"kernel\"]\n";

    /// The blocks differ from those that this version would make.
    #[test]
    fn cells_are_found_in_any_block_and_listed_in_the_order_of_the_plan() {
        let plan = experiment::load(PLAN, Available::default()).unwrap().plan;
        let names: Vec<String> = plan.cells().iter().map(|cell| cell.name(&plan)).collect();
        let folder = tempfile::tempdir().unwrap();
        let results = Results::open(folder.path(), PLAN, &plan.logs).unwrap();
        let record = HEAD.to_owned() + "0,0,1,10,3010,0\n1,1,1,10,,0\n";
        let cell = |name: &String, state| MeasuredCell { name: name.clone(), levels: Vec::new(), state };
        for (block, cells) in [
            ("b", vec![cell(&names[3], State::Ok)]),
            ("a", vec![cell(&names[2], State::Failed("no room".to_owned())), cell(&"unknown".to_owned(), State::Ok)]),
        ] {
            let part = results.begin(block).unwrap();
            fs::write(part.join(format!("{}.record.csv", names[3])), &record).unwrap();
            results.finish(&part, block, &Block { candor_version: "1".to_owned(), cells }).unwrap();
        }
        let cells = read(&find_all(&plan, &results).unwrap()).unwrap();
        assert_eq!(cells.iter().map(|cell| &cell.name).collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
        assert_eq!((missing(&cells), views(&cells).len()), (2, 2));
        assert_eq!(views(&cells)[1].levels["repeat"], "2");
        let lost = results.record("b", &names[3]);
        let text = text(&cells, &results);
        let found = find_all(&plan, &results).unwrap();
        fs::remove_file(lost).unwrap();
        let error = read(&found).unwrap_err().to_string();
        assert!(error.contains("remove the directory") && error.contains("blocks/b to"), "{error}");
        let wanted = [
            "vcan, kernel, repeat 1        0       0            -            -            -  failed: no room",
            "vcan, kernel, repeat 2        2       1        3.000        3.000        3.000  ok",
            "1 ok, 0 invalid, 1 failed, 2 missing",
        ];
        assert!(wanted.iter().all(|wanted| text.contains(wanted)), "{text}");
        // Cells that were not requested, as in one shard of several, are neither listed nor missing.
        let one = find(&plan, &[&plan.cells()[0]], &results.blocks().unwrap(), &results).unwrap();
        assert_eq!(one.len(), 1);
    }
}
