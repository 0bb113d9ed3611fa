//! JSON Schemas of the `--json` output, in `docs/schema`.
//!
//! `tests/schema.rs` validates the output of commands that run everywhere; here are those that need a gateway or can-gw.

use candor_cli::gateway_file::Content;
use candor_cli::schema::{OfFile, assert_complete, assert_published, assert_valid};
use candor_config::placement::Side;
use candor_config::plan::{BusIndex, Engine};
use candor_config::signature::{Signer, blake2b};
use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
use candor_core::job::Job;
use candor_engine::reconcile::{
    Difference, Down, DownCount, End, JobState, LeftoverProgram, Line, LineKind, OwnerState, Status,
};
use candor_engine::{BusCounters, Owner, RouteCounters, Since};
use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::{CangwJob, JobCounters};
use schemars::JsonSchema;
use serde::Serialize;

use super::audit::{self, Audit, Cause, FileView, SignedView, Who};
use super::egress::json as egress;
use super::run::report::events;
use super::{apply, bounds, check, doctor, down, dump, engines, explain, plan, record, show, status, top, watch};
use crate::cli::Cli;

fn published<T: JsonSchema>(command: &str) {
    assert_published::<T>(&format!("candor {command}"));
}

fn is_valid(command: &str, printed: &impl Serialize) {
    assert_valid(&format!("candor {command}"), printed);
}

#[test]
fn schemas_match_the_code() {
    published::<OfFile<apply::View<'_>>>("apply");
    published::<OfFile<bounds::View<'_>>>("bounds");
    published::<check::View<'_>>("check");
    published::<OfFile<doctor::View<'_>>>("doctor");
    published::<down::View<'_>>("down");
    published::<OfFile<dump::Event<'_>>>("dump");
    published::<OfFile<egress::ApplyView<'_>>>("egress apply");
    published::<OfFile<egress::ClearView<'_>>>("egress clear");
    published::<OfFile<egress::PlanView<'_>>>("egress plan");
    published::<OfFile<egress::ShowView>>("egress show");
    published::<OfFile<egress::VerifyView<'_>>>("egress verify");
    published::<OfFile<egress::NewsView<'_>>>("egress watch");
    published::<engines::View>("engines");
    published::<OfFile<explain::Explained<'_>>>("explain");
    published::<events::ModeAnswer<'_>>("mode");
    published::<OfFile<plan::View<'_>>>("plan");
    published::<OfFile<record::View<'_>>>("record");
    published::<events::Answer<'_>>("reload");
    published::<OfFile<events::Event<'_>>>("run");
    published::<OfFile<show::View<'_>>>("show");
    published::<status::View<'_>>("status");
    published::<top::View<'_>>("top");
    published::<OfFile<watch::Event<'_>>>("watch");
    assert_published::<candor_cli::link::State>("candor-link");
}

#[test]
fn every_command_with_json_has_a_schema() {
    assert_complete(&Cli::grouped(), "candor", "candor doctor egress");
}

fn job() -> CangwJob {
    let job = Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter { id: 0x123, mask: 0x7FF });
    CangwJob::new(&job, InterfaceIndex::new(1).unwrap(), InterfaceIndex::new(2).unwrap())
}

#[test]
fn jobs_have_the_published_keys() {
    let applied = || Owner::Applied { file: "car.toml".into() };
    let process = || Owner::Process { pid: 812, engine: Engine::Auto };
    let line = |kind| Line {
        kind,
        route: Some("r".into()),
        from: "can0".into(),
        to: "can1".into(),
        side: Side::Bpf,
        job: job(),
    };
    let lines = [LineKind::Add, LineKind::Other(process()), LineKind::Foreign { duplicate: true }].map(line).into();
    let difference = Difference { lines, steps: 1, refusal: Some("can-gw is missing".into()) };
    let signer = Signer { key_id: "E38DA969D13782EF".into(), key_file: "a.pub".into(), comment: "by me".into() };
    let content = Content { file: "car.toml".into(), digest: blake2b(b""), signer: Some(signer.clone()) };
    let audit = Audit {
        cause: Cause::Apply,
        mode: None,
        who: Who::this_process(),
        signal: Some("SIGHUP"),
        files: FileView::all(std::slice::from_ref(&content)),
        changes: audit::changes(&difference),
        because: Some("no such file".into()),
    };
    let view = || plan::View::of(("car.toml", Some(SignedView::of(&signer))), &difference, vec!["a notice".into()]);
    is_valid("plan", &view());
    is_valid("apply", &apply::View { plan: view(), leftovers_jobs: 3, audit: audit.view() });
    is_valid("run", &events::Event::Audit(audit.view()));
    let count = DownCount { filters: 3, removed: 2, missing: 1 };
    let down = Down { owners: vec![(applied(), count), (process(), count)], removed_filters: 2, ..Down::default() };
    is_valid("down", &down::View::of(&down, audit.view()));
    let end = |name: &str| End { name: Some(name.into()), was: None };
    let state = |side| JobState {
        route: None,
        from: end("can0"),
        to: end("can1"),
        job: job(),
        side,
        present: true,
        counted: true,
    };
    let since = Since { unix_s: 1, boot_s: 1 };
    let owner = |owner, side| OwnerState {
        owner,
        dead: false,
        unfinished: false,
        since,
        signer: Some(signer.clone()),
        jobs: vec![state(side)],
    };
    let status = Status {
        owners: vec![owner(applied(), Side::Kernel), owner(applied(), Side::Bpf), owner(process(), Side::User)],
        foreign: vec![state(Side::Kernel)],
        leftovers: vec![LeftoverProgram {
            interface: "can0".into(),
            route: "speed".into(),
            counters: JobCounters::default(),
        }],
        unreadable: vec!["/run/candor/1".into()],
        has_cangw: true,
    };
    is_valid("status", &status::View::of(&status, 10));
}

#[test]
fn events_have_the_published_keys() {
    let counted = RouteCounters { handled: 7, matched: Some(7), handled_bytes: Some(56), ..RouteCounters::default() };
    let bus = BusCounters { bus: "a".into(), ..BusCounters::default() };
    for event in events::samples(&counted, &bus) {
        is_valid("run", &event);
    }
    let rejected = events::ReloadView { file: "car.toml", because: Some("no such file"), ..Default::default() };
    is_valid("reload", &events::Answer { taken: false, reload: &rejected });
    is_valid("mode", &events::ModeAnswer { taken: true, mode: &events::ModeView::default() });
}

#[test]
fn news_of_egress_have_the_published_keys() {
    use candor_egress::kernel::{Event, News};

    for event in [
        Event::AsWanted,
        Event::Drifted(Vec::new()),
        Event::Failed("no permission".into()),
        Event::Followed(Vec::new()),
        Event::Fought,
        Event::Gone,
        Event::NoGroups(Vec::new()),
        Event::PutBack { is_new: true, differences: Vec::new() },
    ] {
        is_valid("egress watch", &egress::NewsView::from(&News { interface: "can0".into(), event }));
    }
}
