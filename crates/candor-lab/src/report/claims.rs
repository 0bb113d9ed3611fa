//! What papers claimed beside what was measured: a page for each figure, and all claims in one table.
//!
//! Words and numbers come from whoever measured; here they get their look. The same claims give the same bytes.

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
    /// What it is about.
    pub title: String,
    /// What was measured.
    pub setup: String,
    /// What was claimed, in the paper's order.
    pub claims: Vec<ClaimLine>,
    /// Pictures as SVG, with their captions.
    pub pictures: Vec<(String, String)>,
    /// All figures.
    pub table: ClaimTable,
    /// Under which conditions it was measured, and what to believe less.
    pub notes: Vec<String>,
}

/// A claim and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimLine {
    /// In our words.
    pub says: String,
    /// With the paper's numbers.
    pub published: String,
    /// What we have, by kernel.
    pub ours: Vec<Seen>,
    /// Of all kernels together.
    pub verdict: Judgement,
    /// Why.
    pub because: String,
}

/// A claim on one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Empty for a claim that compares kernels.
    pub kernel: String,
    /// With its unit; a dash where there is none.
    pub value: String,
    /// What that means.
    pub verdict: Judgement,
}

/// Whether a claim is so, in the order in which people have to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// It is so.
    Holds,
    /// It is not so here, for a reason that lies in the place.
    Differs,
    /// It is not so any more: the kernel is another one.
    NoLongerTrue,
    /// Something that it needs was not measured.
    NotMeasured,
}

/// Rows of figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimTable {
    /// Names of the columns; the first is of the rows' names.
    pub head: Vec<String>,
    /// As many as the head has.
    pub rows: Vec<Vec<String>>,
}

impl Judgement {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Holds, Self::Differs, Self::NoLongerTrue, Self::NotMeasured];

    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::NoLongerTrue => "no longer true",
            Self::NotMeasured => "not measured",
        }
    }

    const fn class(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::NoLongerTrue => "no-longer",
            Self::NotMeasured => "unmeasured",
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
