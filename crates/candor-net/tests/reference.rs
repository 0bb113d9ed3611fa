//! `docs/cli.md` against the code.

#[path = "../../candor/tests/help_page/mod.rs"]
mod help_page;

#[test]
fn cli_page_matches_the_help() {
    help_page::check(env!("CARGO_BIN_EXE_candor-link"), "candor-link");
}
