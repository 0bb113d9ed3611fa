//! Times of single functions: `cargo bench -p candor-core --bench functions`. For comparisons use `instructions`, which
//! is reproducible.

mod sets;

use std::hint::black_box;

use candor_core::frame::{Frame, FrameFormat};
use candor_core::job::BusIndex;
use candor_core::oracle;
use candor_core::rule::{
    self, ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, Modifications, Operand, XorChecksum,
};
use candor_core::ruleset::RuleSet;
use criterion::Criterion;
use sets::{BUSES, Kind};

fn route(criterion: &mut Criterion) {
    for kind in Kind::ALL {
        for count in [1, 16_384] {
            let jobs = kind.jobs(count);
            let (rules, frames) = (RuleSet::compile(&jobs, BUSES), kind.frames(&jobs));
            let mut next = frames.iter().cycle();
            criterion.bench_function(&format!("route/{}/{count}", kind.name()), |bencher| {
                bencher.iter(|| {
                    let frame = next.next().expect("a cycle is infinite");
                    rules.from_bus(BusIndex(0)).outcomes(black_box(frame), |job, routed| {
                        black_box((job, routed));
                    });
                });
            });
        }
    }
}

fn compile(criterion: &mut Criterion) {
    let jobs = Kind::Mixed.jobs(16_384);
    criterion.bench_function("compile/mixed/16384", |bencher| bencher.iter(|| RuleSet::compile(&jobs, BUSES)));
}

fn oracle(criterion: &mut Criterion) {
    let jobs = Kind::Mixed.jobs(256);
    let frames = Kind::Mixed.frames(&jobs);
    criterion.bench_function("oracle/mixed/256", |bencher| {
        bencher.iter(|| oracle::deliver(&jobs, BusIndex(0), black_box(&frames[0])));
    });
}

fn change(criterion: &mut Criterion) {
    let no_op = Modifications { or: Operand { data: Some([0; 64]), ..Operand::NONE }, ..Modifications::NONE };
    let span = ChecksumSpan { from: 0, to: -2, result: -1 };
    let table = std::array::from_fn(|at| at.to_le_bytes()[0].rotate_left(3));
    let crc8 = Crc8Checksum { span, init: 0xFF, final_xor: 0xFF, table, profile: Crc8Profile::None };
    let checksums = Checksums { crc8: Some(crc8), xor: Some(XorChecksum { span, init: 0 }) };
    for format in [FrameFormat::Classic, FrameFormat::Fd] {
        let text =
            format!("123#{}{}", if format == FrameFormat::Fd { "#1" } else { "" }, "5A".repeat(format.max_len()));
        let frame: Frame = text.parse().expect("a frame");
        criterion.bench_function(&format!("change/{format:?}/both checksums"), |bencher| {
            bencher.iter(|| {
                let mut frame = black_box(frame);
                rule::change(&mut frame, &no_op, &checksums);
                frame
            });
        });
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    route(&mut criterion);
    compile(&mut criterion);
    oracle(&mut criterion);
    change(&mut criterion);
    criterion.final_summary();
}
