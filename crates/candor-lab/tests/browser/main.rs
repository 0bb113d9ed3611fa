//! Reports and the site in a browser: 650 cells, by keyboard, in dark mode and in print.
//!
//! Without a browser these tests print `SKIP` and the reason; with `CANDOR_REQUIRE=browser` one is fetched, and a skip
//! is a failure.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a skipped test prints why")]
#![expect(clippy::unwrap_used, reason = "a failure in a test shows where it is")]

mod chromium;
mod page;
mod plan;
mod site;

use std::fs;
use std::sync::LazyLock;

use candor_lab::report::{self, matrix_html};
use chromium::Chromium;
use page::Page;
use serde_json::{Value, json};

/// Text with too little contrast.
const FAINT: &str = include_str!("faint.js");

/// Elements without an accessible name.
const UNNAMED: &str = include_str!("unnamed.js");

static HTML: LazyLock<String> = LazyLock::new(|| matrix_html(&plan::plan()));

fn open() -> Option<(Page, tempfile::TempDir)> {
    show(&HTML)
}

fn show(html: &str) -> Option<(Page, tempfile::TempDir)> {
    let chromium = Chromium::require()?;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.html");
    fs::write(&file, html).unwrap();
    Some((Page::open(&chromium, &file), folder))
}

#[test]
#[ignore = "needs a browser"]
fn page_of_650_cells_loads_without_requests_or_errors() {
    let Some((mut page, folder)) = open() else { return };
    assert_eq!(page.value("document.querySelectorAll('table.map td a').length"), 650);
    assert_eq!(page.value("document.querySelector('h1').textContent"), "A plan <that> is made up");
    let elements = page.value("document.getElementsByTagName('*').length");
    let time = "(({ startTime, loadEventStart, domInteractive }) => \
                `${Math.round(domInteractive - startTime)} ms to read, ${Math.round(loadEventStart - startTime)} ms until it is open`)\
                (performance.getEntriesByType('navigation')[0])";
    println!("{elements} elements, {}", page.value(time).as_str().unwrap_or_default());
    let own = format!("file://{}", folder.path().join("plan.html").display());
    assert_eq!(page.requests(), [own]);
    assert_eq!(page.complaints(), Vec::<&Value>::new());
}

#[test]
#[ignore = "needs a browser"]
fn keyboard_selects_figures_and_opens_cells() {
    let Some((mut page, _folder)) = open() else { return };
    let shown = "getComputedStyle(document.querySelector('table.map .f1')).display";
    assert_eq!(page.value(shown), "none");
    page.press("Tab");
    assert_eq!(page.value("document.activeElement.id"), "show0");
    page.press("ArrowRight");
    assert_eq!((page.value("document.activeElement.id"), page.value(shown)), (json!("show1"), json!("block")));
    page.press("Tab");
    assert_eq!(page.value("document.activeElement.getAttribute('href')"), "#c0");
    let is_seen = "document.getElementById('c0').checkVisibility()";
    assert_eq!(page.value(is_seen), false);
    page.press("Enter");
    assert_eq!(page.value(is_seen), true);
    page.becomes("document.activeElement.tagName", "SUMMARY");
    // A summary also closes by keyboard.
    page.press("Enter");
    assert_eq!(page.value(is_seen), false);
}

#[test]
#[ignore = "needs a browser"]
fn contrast_is_sufficient_in_all_schemes_and_print() {
    let Some((mut page, _folder)) = open() else { return };
    page.value("document.querySelectorAll('details').forEach((one, at) => { if (at < 60) one.open = true; })");
    for (media, scheme) in [("screen", "light"), ("screen", "dark"), ("print", "light"), ("print", "dark")] {
        page.look(media, scheme);
        let words = page.value(
            "[...document.querySelectorAll('td, th, p, li, text')].filter((one) => one.checkVisibility()).length",
        );
        assert!(words.as_u64().is_some_and(|words| words > 1000), "{media} {scheme}: {words}");
        assert_eq!(page.value(FAINT), json!([]), "{media}, {scheme}");
    }
    // Print has a white background in both schemes.
    assert_eq!(page.value("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
}

#[test]
#[ignore = "needs a browser"]
fn elements_have_accessible_names() {
    let Some((mut page, _folder)) = open() else { return };
    assert_eq!(page.value(UNNAMED), json!([]));
}

#[test]
#[ignore = "needs a browser"]
fn page_of_records_meets_the_same_requirements() {
    let records = [plan::record([0, 1, 2, 0], 1), plan::record([0, 4, 4, 12], 2)];
    let Some((mut page, folder)) = show(&report::html(&records)) else { return };
    assert_eq!(page.requests(), [format!("file://{}", folder.path().join("plan.html").display())]);
    assert_eq!(page.complaints(), Vec::<&Value>::new());
    assert_eq!(page.value(UNNAMED), json!([]));
    for (media, scheme) in [("screen", "light"), ("screen", "dark"), ("print", "dark")] {
        page.look(media, scheme);
        assert_eq!(page.value(FAINT), json!([]), "{media}, {scheme}");
    }
    // The readout follows the mouse.
    let at = json!({ "type": "mouseMoved", "x": 600, "y": 500 });
    page.look("screen", "light");
    page.ask("Input.dispatchMouseEvent", &at);
    let readout = page.value("document.getElementById('readout').textContent");
    assert!(readout.as_str().is_some_and(|readout| readout.starts_with("At least ")), "{readout}");
}

#[test]
#[ignore = "needs a browser"]
fn page_fits_a_phone() {
    let Some((mut page, _folder)) = open() else { return };
    let telephone = json!({ "width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": true });
    page.ask("Emulation.setDeviceMetricsOverride", &telephone);
    page.value("document.querySelectorAll('details').forEach((one, at) => { if (at < 60) one.open = true; })");
    assert_eq!(page.value("document.documentElement.scrollWidth"), 390);
}
