//! The site: a folder of static files that works from a server and from a disk.
//!
//! ```text
//!  site/*.html, recordings ─┐
//!  style of reports ────────┤
//!  results/*.html ──────────┼─▶ target/site ─▶ links, figures
//!  examples/*.toml ─────────┤
//!  docs ── mdBook ──────────┘
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::{docs, step, tools};

/// Files that are joined to `style.css`.
const STYLES: [&str; 5] = [
    "crates/candor-lab/src/plot/palette.css",
    "crates/candor-lab/src/plot/plot.css",
    "crates/candor-lab/src/report/page.css",
    "crates/candor-lab/src/report/claims.css",
    "site/site.css",
];

/// Contents of the inversion demo.
const PARTS: [(&str, &str); 3] = [
    ("{{gateway}}", "crates/candor-lab/src/cmd/demo/files/one-queue.toml"),
    ("{{before}}", "site/before.log"),
    ("{{after}}", "site/after.log"),
];

const COPIED: [&str; 4] = ["book.css", "burst.log", "favicon.svg", "player.js"];

/// Files that the book links to.
const OF_THE_BOOK: [&str; 3] = ["CONTRIBUTING.md", "results/2011-9-1.svg", "results/2014-4.4-1.svg"];

/// Links of the book to what is outside of it, as mdBook writes them; the second is where they lead on the site.
const MOVED: [(&str, &str); 4] = [
    ("results/README.html", "results/index.html"),
    ("../site/inversion.html", "../inversion.html"),
    ("../examples\"", "../examples/index.html\""),
    ("../CONTRIBUTING.html", "../CONTRIBUTING.md"),
];

/// Bytes of everything but the book.
const MOST_BYTES: u64 = 300_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Check the site in a browser.
    #[arg(long)]
    pub(crate) browser: bool,
}

/// `cargo xtask site`.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    docs::check_links()?;
    let site = pages()?;
    let book = site.join("book");
    step::run(Command::new(tools::MDBOOK.obtain()?).arg("build").arg("docs").current_dir(step::root()))?;
    for file in html_below(&book)? {
        rewrite(&file, |text| {
            let text = MOVED.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
            let style = format!("<link rel=\"stylesheet\" href=\"{}book.css\">\n</head>", up(&site, &file));
            Ok(text.replace("</head>", &style))
        })?;
        insert_navigation(&site, &file, "<div class=\"page\">")?;
    }
    for name in OF_THE_BOOK {
        write(&site.join(name), &read(&step::root().join(name))?)?;
    }
    examples(&site)?;
    check(&site)?;
    if args.browser { step::run(&mut browser_test(&site)) } else { Ok(()) }
}

/// The tests of pages in a browser.
pub(crate) fn browser_test(site: &Path) -> Command {
    let mut command = step::cargo();
    command.args(["test", "--workspace", "--test", "browser", "--", "--include-ignored"]);
    command.env("CANDOR_REQUIRE", "browser,site").env("CANDOR_SITE", site);
    command
}

/// Everything but the book, in `target/site`.
pub(crate) fn pages() -> anyhow::Result<PathBuf> {
    let root = step::root();
    let site = root.join("target/site");
    if site.exists() {
        fs::remove_dir_all(&site).with_context(|| format!("cannot remove {}", site.display()))?;
    }
    fs::create_dir_all(site.join("results")).with_context(|| format!("cannot make {}", site.display()))?;
    let styles = STYLES.map(|path| read(&root.join(path))).into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    write(&site.join("style.css"), &styles.concat())?;
    for name in COPIED {
        write(&site.join(name), &read(&root.join("site").join(name))?)?;
    }
    for name in ["index.html", "inversion.html"] {
        let mut text = read(&root.join("site").join(name))?;
        for (place, path) in PARTS {
            text = text.replace(place, escape(&read(&root.join(path))?).trim_end());
        }
        check_figures(name, &text)?;
        write(&site.join(name), &text)?;
    }
    for page in files(&root.join("results"))?.into_iter().filter(|page| has_extension(page, "html")) {
        write(&site.join("results").join(name(&page)), &with_style(&read(&page)?))?;
    }
    for file in html_below(&site)? {
        insert_navigation(&site, &file, "<body>")?;
    }
    let bytes = files(&site)?.iter().map(|file| Ok(file.metadata()?.len())).sum::<anyhow::Result<u64>>()?;
    println!("site: {bytes} bytes without the book in {}", site.display());
    ensure!(bytes <= MOST_BYTES, "the site without the book has {bytes} bytes, more than {MOST_BYTES}");
    Ok(site)
}

/// The shared style instead of one in each page and in each of its plots.
fn with_style(page: &str) -> String {
    let mut parts = page.split("<style>");
    let mut text = parts.next().unwrap_or_default().to_owned();
    text.extend(parts.filter_map(|part| Some(part.split_once("</style>")?.1)));
    let links = "<link rel=\"icon\" href=\"../favicon.svg\"><link rel=\"stylesheet\" href=\"../style.css\"></head>";
    text.replace("</head>", links)
}

/// Copies the gateway files, and lists them with the first sentence of each.
fn examples(site: &Path) -> anyhow::Result<()> {
    let to = site.join("examples");
    fs::create_dir_all(&to).with_context(|| format!("cannot make {}", to.display()))?;
    let mut list = String::new();
    for file in files(&step::root().join("examples"))? {
        let (name, text) = (name(&file), read(&file)?);
        let comment: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("# ")).collect();
        write!(list, "<dt><a href=\"{name}\">{name}</a></dt><dd>{}</dd>", escape(&comment.join(" ")))?;
        write(&to.join(name), &text)?;
    }
    let head = "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
                content=\"width=device-width, initial-scale=1\"><title>candor: example files</title></head>";
    let page =
        format!("{head}<body><main><h1>Example files</h1><dl class=\"files\">{list}</dl></main></body></html>\n");
    let index = to.join("index.html");
    write(&index, &with_style(&page))?;
    insert_navigation(site, &index, "<body>")
}

/// Puts the links of `site/nav.html` after a tag, the first that leads to this page as the current one.
fn insert_navigation(site: &Path, file: &Path, tag: &str) -> anyhow::Result<()> {
    let links = read(&step::root().join("site/nav.html"))?;
    let here = file.strip_prefix(site)?.to_string_lossy().into_owned();
    let current = format!("href=\"{here}\"");
    let links = links.trim().replace(&current, &format!("aria-current=\"page\" {current}"));
    let links = links.replace("href=\"", &format!("href=\"{}", up(site, file)));
    rewrite(file, |text| Ok(text.replacen(tag, &format!("{tag}{links}"), 1)))
}

/// The way from a page to the front page.
fn up(site: &Path, file: &Path) -> String {
    let depth = file.strip_prefix(site).map_or(0, |path| path.components().count().saturating_sub(1));
    "../".repeat(depth)
}

/// A figure must be in the file that its `data-from` names.
fn check_figures(page: &str, text: &str) -> anyhow::Result<()> {
    for part in text.split("data-from=\"").skip(1) {
        let pieces: Vec<&str> = part.splitn(4, ['"', '>', '<']).collect();
        let [file, _, shown, _] = pieces[..] else { bail!("site/{page}: `data-from` is not the last attribute") };
        ensure!(read(&step::root().join(file))?.contains(shown), "site/{page}: {file} has no `{shown}`");
    }
    Ok(())
}

/// Links lead to files and headings of the site, and nothing is loaded from elsewhere.
fn check(site: &Path) -> anyhow::Result<()> {
    let mut wrong = BTreeSet::new();
    let mut links = 0;
    for file in html_below(site)? {
        let page = file.strip_prefix(site)?.to_string_lossy().into_owned();
        let text = read(&file)?;
        for (attribute, target) in ["href", "src"].into_iter().flat_map(|name| values(&text, name)) {
            links += 1;
            let is_elsewhere = attribute == "src" && target.contains("//");
            let result =
                if is_elsewhere { Err("loaded from elsewhere".to_owned()) } else { docs::check(site, &page, target) };
            wrong.extend(result.err().map(|reason| format!("{page}: {target}: {reason}")));
        }
    }
    if !wrong.is_empty() {
        bail!("{}", Vec::from_iter(wrong).join("\n"));
    }
    println!("site: {links} links");
    Ok(())
}

/// The values of an attribute.
fn values<'a>(text: &'a str, attribute: &'static str) -> impl Iterator<Item = (&'static str, &'a str)> {
    let begin = format!(" {attribute}=\"");
    let all: Vec<&str> = text.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect();
    all.into_iter().map(move |value| (attribute, value))
}

fn rewrite(file: &Path, change: impl FnOnce(&str) -> anyhow::Result<String>) -> anyhow::Result<()> {
    write(file, &change(&read(file)?)?)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn html_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    Ok(files(folder)?.into_iter().filter(|file| has_extension(file, "html")).collect())
}

/// All files below a folder, in their order.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { all.extend(files(&path)?) } else { all.push(path) }
    }
    all.sort();
    Ok(all)
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
