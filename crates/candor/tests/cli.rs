//! The command line, as the transcripts in `tests/cmd` show it.

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/*.md");
}
