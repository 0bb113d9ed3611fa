//! Claims of papers compared with measurements: a page for each figure, and an index of all claims.
//!
//! Equal claims give equal bytes.

use std::fmt;

mod index;
mod page;

pub use index::{index_html, index_markdown};
pub use page::page_html;

/// A figure of a paper, repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPage {
    /// The stem of its file.
    pub id: String,
    /// The paper's name.
    pub paper: String,
    /// As the paper numbers it.
    pub number: String,
    pub title: String,
    /// The measurement, and its differences from the paper's.
    pub setup: String,
    /// In the paper's order.
    pub claims: Vec<ClaimLine>,
    /// Pictures as SVG, with their captions.
    pub pictures: Vec<(String, String)>,
    /// Measured values.
    pub table: ClaimTable,
    /// Conditions of the measurement, and threats to its validity.
    pub notes: Vec<String>,
}

/// A claim and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimLine {
    pub says: String,
    /// With the paper's numbers.
    pub published: String,
    /// By kernel.
    pub ours: Vec<Seen>,
    /// For all kernels together.
    pub verdict: Judgement,
    /// Reason for the verdict.
    pub because: String,
}

/// A claim on one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Empty for a claim that compares kernels.
    pub kernel: String,
    /// With its unit; a dash where there is none.
    pub value: String,
    pub verdict: Judgement,
}

/// The verdict on a claim, in the order of precedence when kernels disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// It is confirmed.
    Holds,
    /// No frame was seen that decides about a share smaller than one frame.
    NotDecidable {
        /// Frames that were measured.
        frames: u64,
    },
    /// It is refuted here; the reason may be the laboratory.
    Differs,
    /// It is refuted, because the kernel has changed.
    NoLongerTrue,
    /// A number that it needs was not measured.
    NotMeasured,
}

/// A table of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimTable {
    /// Names of the columns; the first column has the names of the rows.
    pub head: Vec<String>,
    /// As long as the head.
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
    fn a_page_has_claim_value_verdict_and_reason() {
        let page = page_html(&pages()[0]);
        for wanted in ["&lt;three&gt;", "about 3 | times", "3.2 times", "differs", "Sockets.", "<svg></svg>", "Seed 1."]
        {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        assert!(!page.contains("http:") && !page.contains("src="));
    }

    #[test]
    fn the_index_counts_verdicts_and_leads_to_the_pages() {
        let missing = [("RTEMS".to_owned(), "nothing".to_owned())];
        let html = index_html(&pages(), &missing, &["Measured by candor.".to_owned()]);
        assert!(
            html.contains("href=\"2011-13.html\"") && html.contains("RTEMS") && html.contains("Measured by candor.")
        );
        let text = index_markdown(&pages(), &missing, &[]);
        assert!(text.contains("1 claim: 0 hold, 1 differs, 0 no longer true"), "{text}");
        // A bar would end the cell of a table.
        assert!(text.contains("about 3 \\| times") && text.contains("[Figure 13](2011-13.html)"), "{text}");
    }
}
