//! The table.
//!
//! # Source
//! Linux 6.1: [`etf_init()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_etf.c#L343),
//! [`ets_qdisc_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_ets.c#L581),
//! [`__fifo_init()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_fifo.c#L100),
//! [`fq_codel_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_fq_codel.c#L402),
//! [`htb_init()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_htb.c#L1050),
//! [`netem_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_netem.c#L1024),
//! [`prio_tune()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_prio.c#L176),
//! [`sfq_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_sfq.c#L627),
//! [`skbprio_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_skbprio.c#L164);
//! [`pkt_sched.h`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/pkt_sched.h). `q_*.c` of the [`tc`](https://github.com/iproute2/iproute2/tree/v6.1.0/tc) of iproute2 6.1.

use super::option::{Broken, Field, Kind, Opt, Record, Slot, Unit, Width, Wire};
use crate::discipline::{Discipline, Etf, Ets, FqCodel, Htb, Netem, Prio, Sfq};

const SFQ_MAX_DEPTH: u32 = 127;
const SFQ_MAX_FLOWS: u32 = 0x1_0000 - SFQ_MAX_DEPTH - 1;
/// The length that `tc` gives `netem`: the kernel has no default.
const NETEM_LIMIT_FRAMES: u32 = 1000;
/// `TC_HTB_PROTOVER`; a dump has it in the upper half of the word.
const HTB_VERSION: u32 = 3;

/// Kernels since 2025 raise a quantum below 256, and those of `drr` and `ets` lower one above 1 MiB.
pub(crate) const QUANTUM: &[fn(i128) -> i128] = &[|bytes| bytes.clamp(256, 1 << 20), |bytes| bytes.max(256)];
/// Microseconds, stored in units of 1024 ns (`CODEL_SHIFT`).
const CODEL_TIME: &[fn(i128) -> i128] = &[|us| us * 1000 / 1024 * 1024 / 1000];
const MEMORY_LIMIT: &[fn(i128) -> i128] = &[|bytes| bytes.clamp(0, 1 << 31)];
/// The kernel reads a signed number and raises those below 1.
const R2Q: &[fn(i128) -> i128] = &[|divisor| if divisor > i32::MAX as i128 { 1 } else { divisor.max(1) }];
/// The kernel draws it from 32 bits.
const JITTER: &[fn(i128) -> i128] = &[|ns| ns.clamp(0, i32::MAX as i128)];

/// A field of a variant of [`Discipline`].
macro_rules! field {
    ($kind:ident { $name:ident }) => { field!(Discipline::$kind { $name: it } => it) };
    ($kind:ident . $name:ident) => { field!(Discipline::$kind(it) => it.$name) };
    ($variant:pat => $field:expr) => {
        Slot {
            get: |discipline| if let $variant = discipline { $field.get() } else { Vec::new() },
            set: |discipline, numbers| if let $variant = discipline { $field.set(numbers) } else { None },
        }
    };
}

const fn opt(words: &'static [&'static str], unit: Unit, field: Slot, wire: Wire) -> Opt {
    let bounds = match unit {
        Unit::Signed => (i32::MIN as i128, i32::MAX as i128),
        Unit::Minor => (0, u16::MAX as i128),
        Unit::Time => (0, i64::MAX as i128),
        _ => (0, u32::MAX as i128),
    };
    Opt { words, filler: "", unit, bounds, most: 1, always: false, required: None, field, wire, kept: &[] }
}

impl Opt {
    const fn within(self, least: i128, most: i128) -> Self {
        Self { bounds: (least, most), ..self }
    }

    const fn up_to(self, most: usize) -> Self {
        Self { most, ..self }
    }

    const fn always(self) -> Self {
        Self { always: true, ..self }
    }

    const fn kept(self, kept: &'static [fn(i128) -> i128]) -> Self {
        Self { kept, ..self }
    }
}

const NONE: Slot = Slot { get: |_| Vec::new(), set: |_, _| Some(()) };
const U32_MAX: i128 = u32::MAX as i128;

const fn word(at: usize) -> Wire {
    Wire::Struct(at, Width::U32)
}

const fn attribute(kind: u16) -> Wire {
    Wire::Attribute(kind, Width::U32)
}

const PLAIN: Kind = Kind {
    name: "",
    usual: || Discipline::Noqueue,
    options: &[],
    record: Record::None,
    optional: true,
    marked: false,
    no_bits: &[],
    no_attributes: &[],
    zero_attributes: &[],
    rule: |_| Ok(()),
    kept: |wanted, _| wanted.clone(),
};

/// A kind whose only option is a limit.
macro_rules! limited {
    ($name:literal, $kind:ident, $field:ident, $unit:ident) => {
        Kind {
            name: $name,
            usual: || Discipline::$kind { $field: None },
            options: &[opt(&["limit"], Unit::$unit, field!($kind { $field }), word(0))],
            record: Record::Bare(4, 4),
            ..PLAIN
        }
    };
}

/// The kinds that `tc` can make, but for `tbf` and `clsact`.
pub(crate) const KINDS: &[Kind] = &[
    limited!("pfifo", Pfifo, limit_frames, Number),
    limited!("bfifo", Bfifo, limit_bytes, Bytes),
    limited!("pfifo_head_drop", PfifoHeadDrop, limit_frames, Number),
    limited!("skbprio", Skbprio, limit_frames, Number),
    Kind { name: "pfifo_fast", usual: || Discipline::PfifoFast, ..PLAIN },
    Kind { name: "drr", usual: || Discipline::Drr, ..PLAIN },
    Kind {
        name: "prio",
        usual: || Discipline::Prio(Prio { bands: 3, priomap: Prio::PRIOMAP }),
        options: &[
            opt(&["bands"], Unit::Decimal, field!(Prio.bands), word(0)).within(2, 16).always(),
            opt(&["priomap"], Unit::Decimal, field!(Prio.priomap), Wire::Struct(4, Width::U8))
                .within(0, 15)
                .up_to(16)
                .always(),
        ],
        record: Record::Bare(20, 20),
        optional: false,
        rule: prio_rule,
        ..PLAIN
    },
    Kind {
        name: "sfq",
        usual: || Discipline::Sfq(Sfq::default()),
        options: &[
            opt(&["limit"], Unit::Number, field!(Sfq.limit_frames), Wire::ZeroIsNone(8)),
            opt(&["quantum"], Unit::Bytes, field!(Sfq.quantum_bytes), Wire::ZeroIsNone(0))
                .within(1, U32_MAX)
                .kept(QUANTUM),
            opt(&["perturb"], Unit::Number, field!(Sfq.perturb_s), word(4)).within(0, i32::MAX as i128),
            opt(&["divisor"], Unit::PowerOfTwo, field!(Sfq.divisor), Wire::ZeroIsNone(12)).within(1, 65_536),
            opt(&["flows"], Unit::Number, field!(Sfq.flows), Wire::ZeroIsNone(16)),
            opt(&["depth"], Unit::Number, field!(Sfq.depth_frames), Wire::ZeroIsNone(20)),
            opt(&["headdrop"], Unit::Switch, field!(Sfq.head_drop), word(24)),
        ],
        // `struct tc_sfq_qopt_v1`, in which 32 and 36 are the thresholds of random early detection.
        record: Record::Bare(72, 20),
        no_bits: &[(32, !0), (36, !0)],
        kept: sfq_kept,
        ..PLAIN
    },
    Kind {
        name: "htb",
        usual: || Discipline::Htb(Htb { default: 0, rate_to_quantum: 10, direct_frames: None }),
        options: &[
            opt(&["default"], Unit::Minor, field!(Htb.default), word(8)).always(),
            opt(&["r2q"], Unit::Decimal, field!(Htb.rate_to_quantum), word(4)).within(1, U32_MAX).kept(R2Q),
            opt(&["direct_qlen"], Unit::Decimal, field!(Htb.direct_frames), attribute(5)),
        ],
        // `struct tc_htb_glob` in `TCA_HTB_INIT`; 9 is `TCA_HTB_OFFLOAD`.
        record: Record::Attribute(2, 20, Some(HTB_VERSION)),
        optional: false,
        no_attributes: &[9],
        ..PLAIN
    },
    Kind {
        name: "ets",
        usual: || Discipline::Ets(Ets { bands: 0, strict: 0, quanta_bytes: Vec::new(), priomap: Vec::new() }),
        options: &[
            opt(&["bands"], Unit::Decimal, field!(Ets.bands), Wire::Attribute(1, Width::U8)).within(1, 16).always(),
            opt(&["strict"], Unit::Decimal, field!(Ets.strict), Wire::Attribute(2, Width::U8)).within(0, 16),
            opt(&["quanta"], Unit::Decimal, field!(Ets.quanta_bytes), Wire::Each(3, 4, Width::U32))
                .within(1, U32_MAX)
                .up_to(16)
                .kept(QUANTUM),
            opt(&["priomap"], Unit::Decimal, field!(Ets.priomap), Wire::Each(5, 6, Width::U8)).within(0, 15).up_to(16),
        ],
        optional: false,
        marked: true,
        rule: ets_rule,
        kept: ets_kept,
        ..PLAIN
    },
    Kind {
        name: "fq_codel",
        usual: || Discipline::FqCodel(FqCodel::default()),
        options: &[
            opt(&["limit"], Unit::Number, field!(FqCodel.limit_frames), attribute(2)),
            opt(&["flows"], Unit::Number, field!(FqCodel.flows), attribute(5)),
            opt(&["quantum"], Unit::Number, field!(FqCodel.quantum_bytes), attribute(6)).kept(QUANTUM),
            opt(&["target"], Unit::Microseconds, field!(FqCodel.target_us), attribute(1)).kept(CODEL_TIME),
            opt(&["interval"], Unit::Microseconds, field!(FqCodel.interval_us), attribute(3)).kept(CODEL_TIME),
            opt(&["memory_limit"], Unit::Bytes, field!(FqCodel.memory_limit_bytes), attribute(9)).kept(MEMORY_LIMIT),
            opt(&["ecn", "noecn"], Unit::Ignored, NONE, Wire::Nowhere),
        ],
        ..PLAIN
    },
    Kind {
        name: "netem",
        usual: || Discipline::Netem(Netem::default()),
        options: &[
            opt(&["limit"], Unit::Number, field!(Netem.limit_frames), Wire::Or(4, NETEM_LIMIT_FRAMES)),
            opt(&["delay", "latency"], Unit::Time, field!(Netem.delay), Wire::Time(0, 10)),
            opt(&[], Unit::Time, field!(Netem.jitter), Wire::Time(20, 11)).kept(JITTER),
            Opt { filler: "random", ..opt(&["loss"], Unit::Percent, field!(Netem.loss), word(8)) },
            opt(&["duplicate"], Unit::Percent, field!(Netem.duplicate), word(16)),
        ],
        // `struct tc_netem_qopt`, in which 12 is `gap`. Correlation, reordering, corruption and rate are always there; loss
        // models, slots and marks of congestion only where they are set.
        record: Record::Leading(24),
        optional: false,
        no_bits: &[(12, !0)],
        no_attributes: &[5, 7, 8, 12],
        zero_attributes: &[1, 3, 4, 6],
        ..PLAIN
    },
    Kind {
        name: "etf",
        usual: || {
            let (delta_ns, clock_id) = (0, -1);
            Discipline::Etf(Etf { delta_ns, clock_id, deadline_mode: false, offload: false, skip_sock_check: false })
        },
        options: &[
            Opt {
                required: Some("CLOCK_TAI, the only one that the kernel takes"),
                ..opt(&["clockid"], Unit::Clock, field!(Etf.clock_id), Wire::Struct(4, Width::I32)).always()
            },
            opt(&["delta"], Unit::Signed, field!(Etf.delta_ns), Wire::Struct(0, Width::I32)).always(),
            opt(&["deadline_mode"], Unit::Switch, field!(Etf.deadline_mode), Wire::Bit(8, 1)),
            opt(&["offload"], Unit::Switch, field!(Etf.offload), Wire::Bit(8, 2)),
            opt(&["skip_sock_check"], Unit::Switch, field!(Etf.skip_sock_check), Wire::Bit(8, 4)),
        ],
        // `struct tc_etf_qopt` in `TCA_ETF_PARMS`.
        record: Record::Attribute(1, 12, None),
        optional: false,
        no_bits: &[(8, !7)],
        ..PLAIN
    },
];

fn prio_rule(discipline: &mut Discipline) -> Result<(), Broken> {
    let Discipline::Prio(prio) = discipline else { return Ok(()) };
    within(&prio.priomap, prio.bands)
}

/// Without `bands` there are as many as `strict` and `quanta` name.
fn ets_rule(discipline: &mut Discipline) -> Result<(), Broken> {
    let Discipline::Ets(ets) = discipline else { return Ok(()) };
    let implied = usize::from(ets.strict) + ets.quanta_bytes.len();
    let count = if ets.bands == 0 { implied } else { usize::from(ets.bands) };
    match u8::try_from(count) {
        Ok(bands @ 1..=16) if implied <= count => ets.bands = bands,
        _ => {
            let message = format!("ets has {count} bands, but strict and quanta define {implied}");
            return Err((message, "set bands to 1 to 16, at least strict plus the number of quanta"));
        }
    }
    within(&ets.priomap, ets.bands)
}

fn within(priomap: &[u8], bands: u8) -> Result<(), Broken> {
    if priomap.iter().all(|band| *band < bands) {
        return Ok(());
    }
    let message = format!("priomap refers to a band that does not exist; the last one is {}", bands.saturating_sub(1));
    Err((message, "write smaller numbers in priomap, or more bands"))
}

/// Quanta that are not named are the kernel's, and priorities that are not named go to the last band.
fn ets_kept(wanted: &Discipline, found: &Discipline) -> Discipline {
    let (Discipline::Ets(wanted), Discipline::Ets(found)) = (wanted, found) else { return wanted.clone() };
    let mut kept = wanted.clone();
    kept.quanta_bytes.extend(found.quanta_bytes.iter().skip(wanted.quanta_bytes.len()));
    kept.priomap.resize(16, wanted.bands.saturating_sub(1));
    Discipline::Ets(kept)
}

/// As `sfq_change()` does it: each number is bounded by others.
fn sfq_kept(wanted: &Discipline, found: &Discipline) -> Discipline {
    let (Discipline::Sfq(wanted), Discipline::Sfq(found)) = (wanted, found) else { return wanted.clone() };
    let given = |value: Option<u32>| value.filter(|&value| value > 0);
    let depth_frames = given(wanted.depth_frames).map(|depth| depth.min(SFQ_MAX_DEPTH));
    let divisor = given(wanted.divisor);
    let flows = given(wanted.flows).map(|flows| flows.min(SFQ_MAX_FLOWS).min(divisor.unwrap_or(u32::MAX)));
    let depth = depth_frames.or(found.depth_frames).unwrap_or(1);
    let room = flows.or(found.flows).unwrap_or(u32::MAX).saturating_mul(depth);
    let limit_frames = given(wanted.limit_frames).map(|limit| limit.min(room));
    let flows = flows.map(|flows| flows.min(limit_frames.unwrap_or(u32::MAX)));
    let quantum_bytes = given(wanted.quantum_bytes);
    Discipline::Sfq(Sfq { limit_frames, quantum_bytes, divisor, flows, depth_frames, ..*wanted })
}
