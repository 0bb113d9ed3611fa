//! Claims of papers compared with measurements: a page for each figure, and an index of all claims.
//!
//! Equal claims give equal bytes.

use std::fmt;

use maud::{Markup, PreEscaped, html as markup};

use super::parts::{columns, page};

pub(super) const STYLE: &str = include_str!("claims.css");

/// A repeated figure of a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPage {
    /// Stem of its file.
    pub id: String,
    pub paper: String,
    /// As numbered in the paper.
    pub number: String,
    pub title: String,
    /// The measurement, and its differences from the paper's.
    pub setup: String,
    pub claims: Vec<ClaimLine>,
    /// Caption and SVG of each picture.
    pub pictures: Vec<(String, String)>,
    pub table: ClaimTable,
    /// Conditions, and threats to validity.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimLine {
    pub says: String,
    /// With the paper's numbers.
    pub published: String,
    /// Our figures, by kernel.
    pub ours: Vec<Seen>,
    /// Judgement over all kernels.
    pub verdict: Judgement,
    pub because: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Empty for a claim that compares kernels.
    pub kernel: String,
    /// With its unit; a dash if not measured.
    pub value: String,
    pub verdict: Judgement,
}

/// In the order of precedence if kernels disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    Holds,
    /// No such frame was seen, but one frame would be more than the share in question.
    NotDecidable {
        frames: u64,
    },
    /// Refuted, possibly because of the laboratory.
    Differs,
    /// Refuted, because the kernel has changed.
    NoLongerTrue,
    NotMeasured,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimTable {
    /// The first column has the names of the rows. Consecutive rows of one name are a group.
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl fmt::Display for Judgement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Holds => out.write_str("holds"),
            Self::NotDecidable { frames } => write!(out, "not decidable with {frames} frames"),
            Self::Differs => out.write_str("differs"),
            Self::NoLongerTrue => out.write_str("no longer true"),
            Self::NotMeasured => out.write_str("not measured"),
        }
    }
}

impl Judgement {
    const fn class(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::NoLongerTrue => "no-longer",
            Self::NotDecidable { .. } | Self::NotMeasured => "unmeasured",
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.kernel.is_empty() {
            write!(out, "{}: ", self.kernel)?;
        }
        out.write_str(&self.value)
    }
}

impl ClaimPage {
    fn year(&self) -> &str {
        self.id.get(..4).unwrap_or_default()
    }
}

/// A page without external references.
pub fn page_html(of: &ClaimPage) -> String {
    let title = format!("{}: {}", of.number, of.title);
    let main = markup! {
        header {
            p.eyebrow { (of.paper) " · " (of.number) }
            h1 { (of.title) }
            p.lead { (of.setup) }
        }
        section { h2 { "Claims" } @for line in &of.claims { (claim(line)) } }
        @if !of.pictures.is_empty() {
            section {
                h2 { "Latency and loss" }
                @for (caption, svg) in &of.pictures { figure { (PreEscaped(svg)) figcaption { (caption) } } }
            }
        }
        @if !of.table.rows.is_empty() { section { h2 { "Values" } (table(&of.table)) } }
        section { h2 { "Conditions and limits" } ul.trust { @for note in &of.notes { li { (note) } } } }
        p { a href="index.html" { "All claims" } }
    };
    page(&title, STYLE, "", &main, &markup! {})
}

fn claim(line: &ClaimLine) -> Markup {
    markup! {
        article.claim {
            h3 { (line.says) " " (badge(line.verdict)) }
            dl {
                dt { "published" } dd { (line.published) }
                @for seen in &line.ours {
                    dt { @if seen.kernel.is_empty() { "measured" } @else { "on " (seen.kernel) } }
                    dd { (seen.value) @if seen.verdict != line.verdict { " " (badge(seen.verdict)) } }
                }
                dt { "reason" } dd { (line.because) }
            }
        }
    }
}

fn badge(verdict: Judgement) -> Markup {
    markup! { span.badge.(verdict.class()) { (verdict) } }
}

fn table(table: &ClaimTable) -> Markup {
    let head: Vec<&str> = table.head.iter().map(String::as_str).collect();
    markup! {
        div.scroll { table.values {
            (columns(1, &head))
            @for rows in table.rows.chunk_by(|one, next| one.first() == next.first()) {
                tbody { @for (at, row) in rows.iter().enumerate() { tr {
                    @if at == 0 { th scope=[(rows.len() == 1).then_some("row")] rowspan=[(rows.len() > 1).then_some(rows.len())] { (row[0]) } }
                    @for cell in &row[1..] { td { (cell) } }
                } } }
            }
        } }
    }
}

/// Links to all pages. `missing` lists parts of the papers that cannot be repeated, and their substitutes.
pub fn index_html(pages: &[ClaimPage], missing: &[(String, String)], notes: &[String]) -> String {
    let main = markup! {
        header {
            p.eyebrow { "candor-lab papers" }
            h1 { "Four CAN papers, repeated on current kernels" }
            p.lead { (counts(pages)) }
        }
        section {
            h2 { "Claims" }
            div.scroll { table {
                (columns(COLUMNS.len(), &COLUMNS))
                tbody { @for page in pages { @for (at, line) in page.claims.iter().enumerate() {
                    tr.first {
                        @if at == 0 {
                            th scope="row" rowspan=(page.claims.len()) {
                                a href=(format!("{}.html", page.id)) { (page.number) }
                                br; span.year { (page.year()) }
                            }
                        }
                        td { (line.says) } td { (line.published) }
                        td.ours { @for (at, seen) in line.ours.iter().enumerate() { @if at > 0 { br; } (seen) } }
                        td { (badge(line.verdict)) }
                    }
                } } }
            } }
        }
        section {
            h2 { "Not repeatable here" }
            div.scroll { table {
                (columns(MISSING.len(), &MISSING))
                tbody { @for (what, instead) in missing { tr.first { td { (what) } td { (instead) } } } }
            } }
        }
        section { h2 { "Measurements" } ul.trust { @for note in notes { li { (note) } } } }
    };
    page("Four CAN papers, repeated", STYLE, "wide", &main, &markup! {})
}

const COLUMNS: [&str; 5] = ["figure", "claim", "published", "measured", "verdict"];
const MISSING: [&str; 2] = ["in the papers", "substitute"];

/// The same as Markdown.
pub fn index_markdown(pages: &[ClaimPage], missing: &[(String, String)], notes: &[String]) -> String {
    let mut text = format!("# Four CAN papers, repeated on current kernels\n\n{}\n\n", counts(pages));
    let head = |columns: &[&str]| format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()));
    let lines = || pages.iter().flat_map(|page| page.claims.iter().map(move |line| (page, line)));
    text += &head(&COLUMNS);
    for (page, line) in lines() {
        let ours: Vec<String> = line.ours.iter().map(|seen| cell(&seen.to_string())).collect();
        let (year, number, id, verdict) = (page.year(), cell(&page.number), &page.id, line.verdict);
        let (says, published, ours) = (cell(&line.says), cell(&line.published), ours.join("<br>"));
        text += &format!("| {year} [{number}]({id}.html) | {says} | {published} | {ours} | **{verdict}** |\n");
    }
    text += "\n## Reasons\n\n";
    for (_, line) in lines().filter(|(_, line)| line.verdict != Judgement::Holds) {
        text += &format!("* {} ({}): {}\n", line.says, line.verdict, line.because);
    }
    text += &format!("\n## Not repeatable here\n\n{}", head(&MISSING));
    for (what, instead) in missing {
        text += &format!("| {} | {} |\n", cell(what), cell(instead));
    }
    text += "\n## Measurements\n\n";
    notes.iter().for_each(|note| text += &format!("* {note}\n"));
    text
}

fn counts(pages: &[ClaimPage]) -> String {
    let verdicts: Vec<Judgement> = pages.iter().flat_map(|page| &page.claims).map(|line| line.verdict).collect();
    let count = |wanted: fn(&Judgement) -> bool| verdicts.iter().filter(|verdict| wanted(verdict)).count();
    let plural = |count: usize, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
    let mut parts = vec![
        plural(count(|one| *one == Judgement::Holds), "holds", "hold"),
        plural(count(|one| *one == Judgement::Differs), "differs", "differ"),
        format!("{} no longer true", count(|one| *one == Judgement::NoLongerTrue)),
    ];
    let rare = [
        (count(|one| matches!(one, Judgement::NotDecidable { .. })), "not decidable"),
        (count(|one| *one == Judgement::NotMeasured), "not measured"),
    ];
    parts.extend(rare.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")));
    format!("{}: {}.", plural(verdicts.len(), "claim", "claims"), parts.join(", "))
}

/// Escapes text for a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Vec<ClaimPage> {
        let seen = |kernel: &str, verdict| Seen { kernel: kernel.to_owned(), value: "3.2 times".to_owned(), verdict };
        let line = ClaimLine {
            says: "User space takes <three> times as long".to_owned(),
            published: "about 3 | times".to_owned(),
            ours: vec![seen("6.1", Judgement::Holds), seen("6.12", Judgement::Differs)],
            verdict: Judgement::Differs,
            because: "Sockets.".to_owned(),
        };
        vec![ClaimPage {
            id: "2011-13".to_owned(),
            paper: "Timing".to_owned(),
            number: "Figure 13".to_owned(),
            title: "Kernel & user space".to_owned(),
            setup: "One at a time.".to_owned(),
            claims: vec![line],
            pictures: vec![("profiles".to_owned(), "<svg></svg>".to_owned())],
            table: ClaimTable {
                head: vec!["a".to_owned(), "b".to_owned()],
                rows: vec![vec!["x".to_owned(), "1".to_owned()]],
            },
            notes: vec!["Seed 1.".to_owned()],
        }]
    }

    #[test]
    fn page_has_claim_value_verdict_and_reason() {
        let page = page_html(&pages()[0]);
        for wanted in ["&lt;three&gt;", "about 3 | times", "3.2 times", "differs", "Sockets.", "<svg></svg>", "Seed 1."]
        {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        assert!(!page.contains("http:") && !page.contains("src="));
    }

    #[test]
    fn index_counts_verdicts_and_links_to_pages() {
        let missing = [("RTEMS".to_owned(), "nothing".to_owned())];
        let html = index_html(&pages(), &missing, &["Measured by candor.".to_owned()]);
        assert!(
            html.contains("href=\"2011-13.html\"") && html.contains("RTEMS") && html.contains("Measured by candor.")
        );
        let text = index_markdown(&pages(), &missing, &[]);
        assert!(text.contains("1 claim: 0 hold, 1 differs, 0 no longer true"), "{text}");
        // A bar would end the cell.
        assert!(text.contains("about 3 \\| times") && text.contains("[Figure 13](2011-13.html)"), "{text}");
    }
}
