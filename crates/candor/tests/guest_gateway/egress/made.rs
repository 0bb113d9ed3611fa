//! Every discipline, class, classifier, match and action by itself, and what `tc` makes.

use candor_egress::action::{Mirred, Police, PoliceBytes, PoliceFrames};
use candor_egress::discipline::{Etf, Ets, FqCodel, Htb, Netem, Peak, Sfq, SizeTable};
use candor_egress::ematch::{CanRule, Cmp, CmpWidth, Ematch, Meta, MetaId, Relation};
use candor_egress::filter::{Flow, FlowKey, U32, U32Key, U32Link};
use candor_egress::tree::{HtbClass, Share};
use candor_netlink::client::Errno;

use super::*;

fn tbf(burst_bytes: u32, peak: Option<Peak>) -> Discipline {
    Discipline::Tbf(Tbf { rate: ByteRate(1600), burst_bytes, limit_bytes: 1600, peak })
}

/// Without `ets`, which a kernel may lack.
fn disciplines() -> Vec<Discipline> {
    let sfq = Sfq { limit_frames: Some(500), quantum_bytes: Some(16), perturb_s: Some(10), ..Sfq::default() };
    let netem = Netem { delay: Duration::from_nanos(10_000_001), loss: 7, ..Netem::default() };
    let etf = Etf { delta_ns: 5, clock_id: 11, deadline_mode: true, offload: false, skip_sock_check: true };
    vec![
        Discipline::Bfifo { limit_bytes: Some(1600) },
        Discipline::Drr,
        Discipline::Etf(etf),
        Discipline::FqCodel(FqCodel { limit_frames: Some(9), target_us: Some(5000), ..FqCodel::default() }),
        Discipline::Htb(Htb { default: 0x20, rate_to_quantum: 1, direct_frames: None }),
        Discipline::Netem(netem),
        Discipline::Pfifo { limit_frames: None },
        Discipline::PfifoFast,
        Discipline::PfifoHeadDrop { limit_frames: Some(3) },
        prio().discipline,
        Discipline::Sfq(sfq),
        Discipline::Sfq(Sfq::default()),
        Discipline::Skbprio { limit_frames: Some(10) },
        tbf(60, None),
        tbf(160, Some(Peak { rate: ByteRate(3200), burst_bytes: 72 })),
    ]
}

#[test]
#[ignore = "runs in a guest"]
fn every_discipline() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    for discipline in disciplines() {
        fixture.round(&of(vec![root(discipline)], vec![], vec![]));
    }
    let stab = Some(SizeTable { overhead_bytes: 240, ..SizeTable::default() });
    fixture.round(&of(vec![Qdisc { stab, ..prio() }], vec![], vec![]));
    let table = Some(SizeTable::even(0, 20, 72, 4));
    fixture.round(&of(vec![Qdisc { stab: table, ..prio() }], vec![], vec![]));
    let ets = Ets { bands: 4, strict: 2, quanta_bytes: vec![256, 512], priomap: vec![3, 2, 1, 0] };
    let ets = of(vec![root(Discipline::Ets(ets))], vec![], vec![]);
    match fixture.make(&ets) {
        Ok(()) => fixture.clear(),
        Err(error) => {
            assert_eq!(error.errno(), Some(Errno::ENOENT), "{error}");
            return skip(Feature::Ets, &error.to_string());
        }
    }
    fixture.round(&ets);
}

#[test]
#[ignore = "runs in a guest"]
fn every_class() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    let class = |minor, parent, share| Class { handle: Handle::new(1, minor), parent: Handle::new(1, parent), share };
    let htb = |burst_bytes, quantum_bytes, prio| {
        let (rate, ceil) = (ByteRate(1600), ByteRate(3200));
        Share::Htb(HtbClass { rate, ceil, burst_bytes, ceil_burst_bytes: 60, quantum_bytes, prio })
    };
    let root_htb = root(Discipline::Htb(Htb { default: 2, rate_to_quantum: 10, direct_frames: Some(4) }));
    let classes =
        vec![class(1, 0, htb(160, None, 0)), class(2, 1, htb(16, Some(16), 7)), class(3, 1, htb(59, None, 9))];
    fixture.round(&of(vec![root_htb], classes, vec![]));
    let classes = vec![
        class(1, 0, Share::Drr { quantum_bytes: Some(512) }),
        class(2, 0, Share::Drr { quantum_bytes: None }),
        class(3, 0, Share::Drr { quantum_bytes: Some(16) }),
    ];
    fixture.round(&of(vec![root(Discipline::Drr)], classes, vec![]));
}

fn matches() -> Vec<Ematch> {
    let rule = |id, mask| CanRule { id, mask };
    let canid = |rules: &[CanRule]| Ematch::Canid(rules.to_vec());
    let cmp = |width, host_order, relation| Cmp { width, offset: 4, mask: 0xFF, host_order, relation, value: 8 };
    let meta = |what| Ematch::Meta(Meta { what, mask: 0xFF, relation: Relation::Equal, value: 7 });
    let a = canid(&[rule(0xAABB, 0x00FF), rule(0x98DB_33F1, 0x5FFF_FFFF)]);
    let b = Ematch::Cmp(cmp(CmpWidth::U8, false, Relation::Less));
    let c = Ematch::Not(Box::new(Ematch::Cmp(cmp(CmpWidth::U16, true, Relation::Greater))));
    let d = Ematch::Nbyte { offset: 8, bytes: b"abc".to_vec() };
    let e = Ematch::U32 { mask: 0xFF07_00C0, value: 0x2301_0000, offset: 0 };
    let denied = Ematch::Not(Box::new(Ematch::And(vec![d.clone(), e.clone()])));
    let metas = [MetaId::Mark, MetaId::PacketLength, MetaId::Priority, MetaId::Protocol].map(meta);
    vec![
        a.clone(),
        canid(&(0..500).map(|id| rule(id, 0x7FF)).collect::<Vec<_>>()),
        b.clone(),
        c.clone(),
        d,
        e,
        Ematch::Or(metas.to_vec()),
        Ematch::And(vec![a, Ematch::Or(vec![b, c]), denied]),
    ]
}

#[test]
#[ignore = "runs in a guest"]
fn every_classifier_and_match() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    let parent = Handle::new(1, 0);
    for expression in matches() {
        let basic = filter(parent, Classifier::Basic(Some(expression)));
        fixture.round(&of(vec![prio()], vec![], vec![basic]));
    }
    let flow = Flow { keys: vec![FlowKey::Source, FlowKey::Mark], hashed: true, divisor: Some(3), ..Flow::default() };
    let map = Flow { keys: vec![FlowKey::Priority], ..Flow::default() };
    for flow in [flow, map] {
        let flow = Filter { handle: 1, class: None, ..filter(parent, Classifier::Flow(flow)) };
        fixture.round(&of(vec![prio()], vec![], vec![flow]));
    }
    for mask in [None, Some(0xFF)] {
        let fw = Filter { handle: 7, ..filter(parent, Classifier::Fw { mask }) };
        fixture.round(&of(vec![prio()], vec![], vec![fw]));
    }
    let everything = [Classifier::Basic(None), Classifier::Matchall];
    for classifier in everything {
        fixture.round(&of(vec![prio()], vec![], vec![filter(parent, classifier)]));
    }
    let u32 = |handle, class, node| Filter { handle, class, ..filter(parent, Classifier::U32(node)) };
    let keys = vec![U32Key { mask: 0xFF07_00C0, value: 0x2301_0000, offset: 0 }];
    let link = Some(U32Link { table: 0x0010_0000, mask: 0x000F_0000, offset: 0 });
    let tables = vec![
        u32(0x0010_0000, None, U32 { divisor: Some(16), ..U32::default() }),
        u32(0, Some(Handle::new(1, 2)), U32 { table: 0x0010_3000, keys: keys.clone(), ..U32::default() }),
        u32(0, None, U32 { link, ..U32::default() }),
        u32(5, Some(Handle::new(1, 1)), U32 { keys, ..U32::default() }),
    ];
    fixture.round(&of(vec![prio()], vec![], tables));
}

#[test]
#[ignore = "runs in a guest"]
fn every_action() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    let clsact =
        || Qdisc { handle: Handle::CLSACT_QDISC, parent: Handle::CLSACT, stab: None, discipline: Discipline::Clsact };
    let (exceed, verdict) = (Verdict::Drop, Verdict::Pass);
    let bytes = |mtu_bytes| PoliceBytes { rate: ByteRate(1600), burst_bytes: 60, mtu_bytes };
    let police = |bytes, frames| Action::Police(Police { bytes, frames, exceed, conform: Verdict::Pipe });
    let to = |how, verdict| Action::Mirred { interface: FAR.to_owned(), how, verdict };
    let priority = Some(Handle::new(1, 2));
    let mut actions = vec![
        police(Some(bytes(0)), None),
        police(Some(bytes(72)), None),
        police(None, Some(PoliceFrames { per_second: 20, burst_frames: 3 })),
        Action::Skbedit { priority, mark: Some(7), mask: Some(0xFF), verdict },
        Action::Skbedit { priority: None, mark: Some(0), mask: None, verdict },
        to(Mirred::EgressMirror, Verdict::Pipe),
        to(Mirred::EgressRedirect, Verdict::Stolen),
        to(Mirred::IngressMirror, Verdict::Pipe),
        to(Mirred::IngressRedirect, Verdict::Stolen),
    ];
    let verdicts =
        [Verdict::Continue, Verdict::Drop, Verdict::Pass, Verdict::Pipe, Verdict::Reclassify, Verdict::Stolen];
    actions.extend(verdicts.map(|verdict| Action::Gact { verdict }));
    for action in actions {
        let filters = [Handle::INGRESS, Handle::EGRESS].map(|parent| doing(parent, action.clone()));
        fixture.round(&of(vec![clsact()], vec![], filters.to_vec()));
    }
}

pub(super) fn tc(arguments: &str) -> Result<(), String> {
    let output = Command::new("tc").args(arguments.split(' ')).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
#[ignore = "runs in a guest"]
fn reads_what_tc_makes() {
    let Some(mut fixture) = Fixture::new(&[VCAN, &[Feature::Tc]].concat()) else { return };
    for command in [
        "qdisc add dev t-near root handle 1: prio",
        "qdisc add dev t-near parent 1:3 handle 3: tbf rate 12800bit burst 60 limit 1600",
        "filter add dev t-near parent 1: protocol all prio 2 handle 7 fw classid 1:2",
    ] {
        tc(command).unwrap();
    }
    let below = Qdisc { handle: Handle::new(3, 0), parent: Handle::new(1, 3), ..root(tbf(60, None)) };
    let parent = Handle::new(1, 0);
    let fw = filter(parent, Classifier::Fw { mask: None });
    let fw = Filter { preference: 2, handle: 7, class: Some(Handle::new(1, 2)), ..fw };
    let mut expected = of(vec![prio(), below], vec![], vec![fw]);
    let canid = "filter add dev t-near parent 1: protocol all prio 1 basic match canid(sff 0x123) classid 1:1";
    match tc(canid) {
        Ok(()) => {
            let rule = CanRule { id: 0x123, mask: 0x7FF };
            expected.filters.insert(0, filter(parent, Classifier::Basic(Some(Ematch::Canid(vec![rule])))));
        }
        Err(error) => skip(Feature::Tc, &format!("no canid: {error}")),
    }
    let found = fixture.observe();
    assert_eq!(differences(&expected, &found.tree), []);
    assert_eq!(found.bands.len(), 4, "{:?}", found.bands);
    fixture.clear();
}
