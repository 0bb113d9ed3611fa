//! Pages of small and large plans.

use super::super::summary::tests::record;
use super::*;
use crate::cells::State;

/// All combinations of these levels, none measured.
pub(super) fn crossed(factors: &[(&str, &[&str])]) -> Vec<Cell> {
    let mut all: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (factor, levels) in factors {
        let with = |so_far: &Vec<(String, String)>| {
            let so_far = so_far.clone();
            levels.iter().map(move |level| [&so_far[..], &[((*factor).to_owned(), (*level).to_owned())]].concat())
        };
        all = all.iter().flat_map(with).collect();
    }
    let cell =
        |(levels, index): (Vec<_>, u32)| Cell { name: format!("{index:016x}"), levels, state: None, measured: None };
    all.into_iter().zip(0..).map(cell).collect()
}

pub(super) fn matrix(cells: Vec<Cell>) -> Matrix {
    Matrix { name: "mine.results".to_owned(), frames: 10_000, warm_up: 500, seed: 7, cells }
}

pub(super) fn measure(cell: &mut Cell, latencies: &[Option<i64>]) {
    let mut record = record("d", "e", latencies);
    record.header.load = cell.level("load").to_owned();
    cell.measured = Some(Measured::of(&record));
    cell.state = Some(State::Ok);
}

/// Two gateways with three loads, and cells in every state.
fn small() -> Matrix {
    let mut cells = crossed(&[("gateway", &["kernel", "read-write"]), ("load", &["none", "cpu 20", "ethernet"])]);
    measure(&mut cells[0], &[Some(2000); 400]);
    measure(&mut cells[1], &[Some(4000), Some(4000), None]);
    measure(&mut cells[3], &[Some(9000); 400]);
    measure(&mut cells[4], &[Some(5000)]);
    cells[4].state = Some(State::Invalid("the tester was late".to_owned()));
    cells[5].state = Some(State::Failed("no such program".to_owned()));
    matrix(cells)
}

fn cell_of(page: &str, index: usize) -> &str {
    let link = page.find(&format!("<a href=\"#c{index}\"")).unwrap();
    let start = page[..link].rfind("<td").unwrap();
    &page[start..start + page[start..].find("</td>").unwrap()]
}

#[test]
fn map_has_number_or_symbol_and_reason_of_each_cell() {
    let page = matrix_html(&small());
    let is_in = |index, wanted: &[&str]| {
        let cell = cell_of(&page, index);
        assert!(wanted.iter().all(|wanted| cell.contains(wanted)), "{cell}");
    };
    is_in(0, &["class=\"ok\"", ">2.00<", "kernel · load none: ok"]);
    is_in(1, &[">4.00<", "f3 q1\">1<"]);
    is_in(2, &["class=\"missing\"", "○", "kernel · ethernet: not measured yet"]);
    is_in(3, &["q8", ">9.00<", "f4 q8\">4.50<"]);
    is_in(4, &["class=\"invalid\"", "! 5.00", "invalid: the tester was late"]);
    is_in(5, &["class=\"failed\"", "✕", "failed: no such program"]);
    assert!(!cell_of(&page, 4).contains("q8"), "invalid cells have no colour");
    assert!(page.contains("3 of 6 cells ok, 1 invalid, 1 failed, 1 missing."), "{page}");
}

#[test]
fn links_have_targets_and_rows_and_columns_have_headings() {
    let page = matrix_html(&small());
    for link in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert_eq!(page.matches(&format!("id=\"{link}\"")).count(), 1, "{link}");
    }
    assert_eq!(page.matches("<th scope=\"row\">read-write</th>").count(), 2, "the map and the comparison");
    assert!(page.contains("<th scope=\"col\">cpu 20</th>"));
}

#[test]
fn gateways_are_compared_only_where_everything_else_is_equal() {
    let mut plan = small();
    assert_eq!(ratios::to_kernel(&plan.cells), [Some(1.0), Some(1.0), None, Some(4.5), None, None]);
    plan.cells[3].measured.as_mut().unwrap().header.stamps = "others".to_owned();
    assert_eq!(ratios::to_kernel(&plan.cells)[3], None);
    let mut plan = small();
    plan.cells[3].measured.as_mut().unwrap().header.throughput = Some(throughput::tests::searched(5000));
    assert_eq!(ratios::to_kernel(&plan.cells)[3], None, "each device has its own rate");
}

#[test]
fn engines_are_compared_with_their_baselines() {
    let mut plan = small();
    let named = |cell: &mut Cell, engine: &str| cell.measured.as_mut().unwrap().header.engine = engine.to_owned();
    named(&mut plan.cells[0], "baseline of read-write");
    named(&mut plan.cells[1], "baseline of read-write");
    named(&mut plan.cells[3], "read-write");
    assert_eq!(ratios::to_baseline(&plan.cells), [None, None, None, Some(4.5), None, None]);
}

#[test]
fn cell_has_details() {
    let mut plan = small();
    let measured = plan.cells[0].measured.as_mut().unwrap();
    measured.header.activity_per_second.insert("context_switches".to_owned(), 143_018);
    let page = matrix_html(&plan);
    for wanted in [
        "context switches 143\u{202f}018",
        "ok 400, late 0, reordered 0, altered 0, refused 0, unseen 0, lost 0",
        "2.000 – 2.000",
        "n too small: p99 needs 368 frames",
        "1 never arrived",
        "add gateway &quot;none&quot; to the plan",
    ] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    let null = &mut plan.cells[3];
    null.levels[0].1 = "none".to_owned();
    assert!(matrix_html(&plan).contains("a p50 of at most 9.00 µs"));
}

#[test]
fn page_has_no_references_and_escapes_user_text() {
    let mut plan = small();
    plan.name = "<img src=x>".to_owned();
    plan.cells[3].levels[1].1 = "\"><script>".to_owned();
    plan.cells[5].state = Some(State::Failed("</script><!--".to_owned()));
    plan.cells[0].measured.as_mut().unwrap().header.stamps = "<b>".to_owned();
    let page = matrix_html(&plan);
    for forbidden in ["http:", "https:", "<link", "<img", "@import", "<!--", "<b>", "\"><script>"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page, matrix_html(&plan), "the same results give the same bytes");
}

#[test]
fn plan_without_results_has_a_page() {
    assert!(matrix_html(&matrix(Vec::new())).contains("0 of 0 cells ok"));
    let page = matrix_html(&matrix(crossed(&[("gateway", &["kernel"])])));
    assert!(page.contains("0 of 1 cell ok, 0 invalid, 0 failed, 1 missing"), "{page}");
}

/// The 2011 paper had 653 cells of 10 000 frames. `tests/browser` checks that such a page opens at once.
#[test]
fn page_of_a_large_plan_is_small_enough_to_send() {
    let levels = |count: u32| (0..count).map(|level| format!("level {level}")).collect::<Vec<_>>();
    let levels = [13, 10, 5].map(levels);
    let levels = levels.each_ref().map(|levels| levels.iter().map(String::as_str).collect::<Vec<_>>());
    let mut cells = crossed(&[("rules", &levels[0]), ("load", &levels[1]), ("gateway", &levels[2])]);
    assert_eq!(cells.len(), 650);
    let mut state = 1u64;
    let mut latency = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(i64::try_from(8000 + (state >> 33) % 90_000).unwrap())
    };
    // One record with as many different latencies as there can be: what a page costs does not depend on which ones.
    let latencies: Vec<_> = (0..10_000).map(|_| latency()).collect();
    let mut one = cells[0].clone();
    measure(&mut one, &latencies);
    for cell in &mut cells {
        (cell.state, cell.measured) = (one.state.clone(), one.measured.clone());
    }
    let page = matrix_html(&matrix(cells));
    let (megabytes, elements) = (page.len() / 1_000_000, page.matches("</").count());
    assert!(megabytes < 8, "{megabytes} MB");
    assert!(elements < 90_000, "{elements} elements");
}

#[test]
fn markdown_table_has_cells_in_every_state() {
    let mut plan = small();
    plan.cells[5].state = Some(State::Failed("no | in\nit".to_owned()));
    let text = matrix_markdown(&plan);
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
    let wanted = [
        "| gateway | load | frames | lost | p50 / µs | p90 / µs | p99 / µs | max / µs | state |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
        "| kernel | none | 400 | 0 | 2.000 | 2.000 | 2.000 | 2.000 | ok |",
        "| kernel | cpu 20 | 3 | 1 | n too small | n too small | n too small | 4.000 | ok |",
        "| kernel | ethernet | – | – | – | – | – | – | **○** not measured yet |",
        "| read-write | none | 400 | 0 | 9.000 | 9.000 | 9.000 | 9.000 | ok |",
        "| read-write | cpu 20 | 1 | 0 | n too small | n too small | n too small | 5.000 | **!** invalid: the tester was late |",
        "| read-write | ethernet | – | – | – | – | – | – | **✕** failed: no \\| in it |",
    ];
    assert_eq!(rows, wanted);
    assert!(text.starts_with("# mine.results\n\n3 of 6 cells ok"), "{text}");
    assert!(text.contains("\n* **!** No cell is without a gateway"), "{text}");
    assert!(!matrix_markdown(&matrix(Vec::new())).contains("| ok"));
}
