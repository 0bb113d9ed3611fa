//! JSON Schemas of the `--json` output, in `docs/schema`.

use candor_cli::gateway_file::Invalid;
use candor_cli::schema::{OfFile, assert_complete, assert_published};
use clap::CommandFactory as _;
use schemars::JsonSchema;

use super::measure::{dry_run, verdict};
use super::papers::{ClaimView, FigureView};
use super::report::{PlanView, RecordView};
use super::timeline;
use super::wire::{event, session};
use super::{
    bounds, bursts, can_send, compare, conformance, convert, database, demo, evidence, guests, hops, learn, precision,
    profile, replay, soak, stream, system_calls, tester,
};
use crate::cli::Cli;

/// Output that depends on the arguments.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Either<A, B> {
    A(A),
    B(B),
}

#[test]
fn schemas_match_the_code() {
    assert_published::<OfFile<Vec<RecordView<'_>>>>("candor-lab bench");
    assert_published::<OfFile<bounds::View<'_>>>("candor-lab bounds");
    assert_published::<OfFile<bursts::View<'_>>>("candor-lab bursts");
    assert_published::<OfFile<can_send::report::View<'_>>>("candor-lab can-send");
    assert_published::<compare::json::View<'_>>("candor-lab compare");
    assert_published::<conformance::table::View<'_>>("candor-lab conformance");
    assert_published::<convert::View>("candor-lab convert");
    assert_published::<database::View<'_>>("candor-lab database");
    assert_published::<demo::report::Report>("candor-lab demo inversion");
    assert_published::<OfFile<evidence::View<'_>>>("candor-lab evidence");
    assert_published::<hops::View>("candor-lab hops");
    assert_published::<guests::KernelsView>("candor-lab kernels");
    assert_published::<learn::allow::View<'_>>("candor-lab learn allow");
    assert_published::<learn::checksum::View<'_>>("candor-lab learn checksum");
    assert_published::<learn::detect::View<'_>>("candor-lab learn detect");
    assert_published::<OfFile<learn::traffic::View>>("candor-lab learn traffic");
    assert_published::<OfFile<Either<verdict::View<'_>, dry_run::View>>>("candor-lab measure");
    assert_published::<Either<Vec<ClaimView<'_>>, Vec<FigureView<'_>>>>("candor-lab papers");
    assert_published::<OfFile<precision::View<'_>>>("candor-lab precision");
    assert_published::<replay::View>("candor-lab replay");
    assert_published::<Either<Vec<RecordView<'_>>, PlanView<'_>>>("candor-lab report");
    assert_published::<OfFile<Either<profile::view::View, Vec<profile::view::View>>>>("candor-lab profile");
    assert_published::<OfFile<soak::View<'_>>>("candor-lab soak");
    assert_published::<OfFile<stream::View<'_>>>("candor-lab stream");
    assert_published::<system_calls::View<'_>>("candor-lab system-calls");
    assert_published::<OfFile<tester::EventView<'_>>>("candor-lab tester");
    assert_published::<timeline::View<'_>>("candor-lab timeline");
    assert_published::<Either<event::Event<'_>, Invalid<'_>>>("candor-lab wire");
    assert_published::<session::Answer>("candor-lab wire inject");
}

#[test]
fn every_command_with_json_has_a_schema() {
    assert_complete(&Cli::command(), "candor-lab", "");
}
