//! The pages of `cargo xtask site`, whose folder `CANDOR_SITE` names. The book is checked if it is there.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::page::Page;
use crate::{FAINT, UNNAMED};

/// Controls and links outside of text that are smaller than a fingertip.
const SMALL: &str = include_str!("small.js");

/// Evaluations until a page must have changed by itself; each takes a part of a millisecond.
const PATIENCE: u32 = 20_000;

const BOOK: [&str; 3] = ["book/index.html", "book/engines.html", "book/conformance.html"];

fn site() -> Option<(PathBuf, Chromium)> {
    let Some(site) = std::env::var_os("CANDOR_SITE") else {
        let is_required = std::env::var("CANDOR_REQUIRE").is_ok_and(|all| all.split(',').any(|one| one == "site"));
        assert!(!is_required, "CANDOR_SITE is missing");
        println!("SKIP needs site: `cargo xtask site` makes one; CANDOR_SITE names its folder");
        return None;
    };
    Some((site.into(), Chromium::require()?))
}

fn width(page: &mut Page, width: u32) {
    let size = json!({ "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600 });
    page.ask("Emulation.setDeviceMetricsOverride", &size);
}

fn pages(site: &Path) -> Vec<PathBuf> {
    let own = ["index.html", "inversion.html"].map(|name| site.join(name));
    let results = fs::read_dir(site.join("results")).unwrap().map(|entry| entry.unwrap().path());
    own.into_iter()
        .chain(results.filter(|path| path.extension().is_some_and(|extension| extension == "html")))
        .collect()
}

#[test]
#[ignore = "needs a browser"]
fn pages_fit_telephone_and_desk_in_light_and_dark() {
    let Some((site, chromium)) = site() else { return };
    let pages = pages(&site);
    assert!(pages.len() > 20, "{pages:?}");
    let mut page = Page::open(&chromium, &pages[0]);
    for file in &pages {
        page.go(file);
        assert_eq!(page.value(UNNAMED), json!([]), "{file:?}");
        for scheme in ["light", "dark"] {
            page.look("screen", scheme);
            assert_eq!(page.value(FAINT), json!([]), "{file:?}, {scheme}");
        }
        for wide in [390, 1280] {
            width(&mut page, wide);
            check_width(&mut page, file);
            assert_eq!(page.value(SMALL), json!([]), "{file:?}, {wide}");
        }
        check_own(&page, &site, file);
    }
    for file in BOOK.map(|name| site.join(name)).iter().filter(|file| file.exists()) {
        // mdBook chooses its colours when a page is loaded.
        for (scheme, wide) in [("light", 390), ("dark", 1280)] {
            page.look("screen", scheme);
            width(&mut page, wide);
            page.go(file);
            assert_eq!(page.value(FAINT), json!([]), "{file:?}, {scheme}");
            check_width(&mut page, file);
        }
        check_own(&page, &site, file);
    }
}

/// Nothing to scroll sideways.
fn check_width(page: &mut Page, file: &Path) {
    let beyond = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.documentElement)";
    assert_eq!(page.value(beyond), 0, "{file:?}");
}

/// All requests stay in the site.
fn check_own(page: &Page, site: &Path, file: &Path) {
    let own = format!("file://{}/", site.display());
    let foreign: Vec<_> =
        page.requests().into_iter().filter(|url| !url.starts_with(&own) && !url.starts_with("data:")).collect();
    assert_eq!(foreign, Vec::<&str>::new(), "{file:?}");
    assert_eq!(page.complaints(), Vec::<&Value>::new(), "{file:?}");
}

/// Time, in µs, and what the two recordings show.
fn now(page: &mut Page) -> f64 {
    page.value("Number(scrubber.value)").as_f64().unwrap()
}

fn text(page: &mut Page, selector: &str) -> String {
    let text = page.value(&format!("document.querySelector('{selector}').textContent"));
    text.as_str().unwrap().replace('\u{202f}', " ")
}

/// Waits until the player has moved away from a time.
fn moved(page: &mut Page, from: f64) -> f64 {
    let moved = (0..PATIENCE).map(|_| now(page)).find(|now| (now - from).abs() > 0.0);
    moved.expect("the player moves")
}

#[test]
#[ignore = "needs a browser"]
fn recordings_are_played_by_keyboard() {
    let Some((site, chromium)) = site() else { return };
    let mut page = Page::open(&chromium, &site.join("inversion.html"));
    let begin = now(&mut page);
    assert!(begin < 0.0, "{begin}");
    assert_eq!(text(&mut page, "#before .state"), "not sent yet");

    page.press("End");
    for lane in ["before", "after"] {
        assert_eq!(text(&mut page, &format!("#{lane} .state")), "received");
        assert_eq!(text(&mut page, &format!("#{lane} .waited b")), text(&mut page, &format!("#known-{lane}")));
        assert_eq!(text(&mut page, &format!("#{lane} .count")), ": 0 frames");
    }
    page.press("Home");
    assert_eq!(now(&mut page), begin);
    page.press("ArrowRight");
    let step = now(&mut page);
    assert!(step > begin && step < 0.0, "{step}");
    // Until the urgent frame is sent: then it waits in both recordings, but not for the same number of frames.
    while now(&mut page) < 0.0 {
        page.press("ArrowRight");
    }
    assert_eq!(now(&mut page), 0.0);
    assert_eq!(text(&mut page, "#before .state"), "in the queue, 56 frames before it");
    assert_eq!(text(&mut page, "#after .state"), "in the queue, 2 frames before it");
    assert_eq!(text(&mut page, "#after .band .frames"), "080");
    let said = text(&mut page, "#said");
    assert!(said.starts_with("0.00 ms. Before: in the queue, 56 frames"), "{said}");
    page.press("ArrowLeft");
    assert!(now(&mut page) < 0.0);

    page.press("Home");
    page.press(" ");
    assert_eq!(text(&mut page, "#play"), "Pause");
    moved(&mut page, begin);
    page.press(" ");
    assert_eq!(text(&mut page, "#play"), "Play");
    // By Tab to the button; keys that it has itself stay its own.
    while page.value("document.activeElement.id") != "play" {
        page.press("Tab");
    }
    page.press(" ");
    assert_eq!(text(&mut page, "#play"), "Pause");
    page.press("End");
    assert_eq!(text(&mut page, "#play"), "Play");
    assert_eq!(page.complaints(), Vec::<&Value>::new());
}

#[test]
#[ignore = "needs a browser"]
fn reduced_motion_plays_frame_by_frame() {
    let Some((site, chromium)) = site() else { return };
    let mut page = Page::open(&chromium, &site.join("inversion.html"));
    assert_eq!(page.value("calm.hidden"), true);
    let motion = json!([{ "name": "prefers-reduced-motion", "value": "reduce" }]);
    page.ask("Emulation.setEmulatedMedia", &json!({ "features": motion }));
    page.go(&site.join("inversion.html"));
    assert_eq!(page.value("calm.hidden"), false);
    let begin = now(&mut page);
    page.press("ArrowRight");
    let step = now(&mut page);
    page.press("Home");
    page.press(" ");
    assert_eq!(moved(&mut page, begin), step);
}
