//! The programs of the filters.
//!
//! # Source
//! Linux 7.0: [`cls_bpf_classify()`](https://github.com/torvalds/linux/blob/v7.0/net/sched/cls_bpf.c), for which 0 is
//! "not this one", and 1 a class.

use candor_core::frame::{CAN_ERR_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, CANFD_FDF};
use candor_core::job::Job;

use super::generator::{DATA, DATA_END, FLAGS, Generator, LEN, PAYLOAD, frame_bytes};
use super::plan::Step;
use super::tables::{FEW_VALUES, Tables};
use super::{Action, CompileError, Filter, Filters, Generation, How, Kind, MOST_PASSES, Map, change};
use crate::assembler::{Alu, Assembler, Condition, Label, MapIndex, Register, Size};

use Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};

/// `cb` of `struct __sk_buff`: the steps of the frame.
const CONTROL_BLOCK: i16 = 48;
/// Words behind the steps in the control block.
const SAVED: [i16; 4] = [CONTROL_BLOCK + 4, CONTROL_BLOCK + 8, CONTROL_BLOCK + 12, CONTROL_BLOCK + 16];
/// `mark` of `struct __sk_buff`.
const MARK: i16 = 8;
/// In the mark. After [`MOST_PASSES`], the highest bit is set.
const ONE_PASS: i32 = 1 << 28;
const _: () = assert!(ONE_PASS.cast_unsigned() * MOST_PASSES == 1 << 31);
/// `tstamp` of `struct __sk_buff`: of the realtime clock when the frame was received; 0 without a timestamp.
const TSTAMP: i16 = 152;
/// `BPF_FUNC_ktime_get_tai_ns`.
const KTIME_GET_TAI_NS: i32 = 208;
/// `BPF_FUNC_map_lookup_elem`.
const MAP_LOOKUP: i32 = 1;

pub(super) fn generate(
    jobs: &[Job],
    steps: &[Step],
    of: (Kind, Generation),
    bounds_ns: &[u32],
) -> Result<Filters, CompileError> {
    let (kind, _) = of;
    let tables = Tables::of(jobs, steps)?;
    if let ([step], Kind::Classic | Kind::Xl, Some((mask, value))) = (steps, kind, tables.only_value())
        && !jobs[step.jobs[0]].modifies()
        && jobs[step.jobs[0]].payload.is_empty()
        && bounds_ns.is_empty()
    {
        return Ok(Filters { filters: vec![one_value(jobs, step, kind, (mask, value))?], maps: Vec::new() });
    }
    let mut maps = Vec::new();
    let deletes = |step: &Step| {
        let job = &jobs[step.jobs[0]];
        job.protected.is_some() || job.modifications.operands().iter().any(|(_, operand)| operand.len.is_some())
    };
    let deleted = steps.iter().any(deletes).then(|| {
        maps.push(Map::Deleted(steps.len()));
        MapIndex(0)
    });
    let latencies = (!bounds_ns.is_empty() && !steps.is_empty()).then(|| {
        maps.extend([Map::TaiAhead, Map::Latencies { steps: steps.len(), classes: bounds_ns.len() + 1 }]);
        [MapIndex(maps.len() - 2), MapIndex(maps.len() - 1)]
    });
    let restores = |step: &Step| jobs[step.jobs[0]].modifies() && step.how() == How::Mirror;
    if kind == Kind::Fd && steps.iter().any(restores) {
        return Err(CompileError::Restore);
    }
    // Whether a later program reads the control block.
    let ends = steps.iter().any(Step::needs_end);
    let notes = steps.len() > 1 || ends || steps.iter().any(restores);
    let mut filters = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let job = &jobs[step.jobs[0]];
        let mut generator = Generator::new(&mut maps, of);
        let bit = 1_u32 << number;
        if number == 0 {
            generator.look_up(&tables, notes);
        } else {
            generator.load_steps();
        }
        let failed = generator.assembler.label();
        if steps.len() > 1 {
            generator.unless_step(bit);
        }
        let reads = !job.payload.is_empty() || job.modifies();
        if reads && number > 0 {
            generator.load_frame();
        }
        generator.payload(job, failed);
        if job.modifies() {
            if restores(step) {
                generator.save();
            }
            generator.change(job, deleted.map(|map| (map, number)), failed);
        }
        if let Some(maps) = latencies {
            generator.latency(maps, number, bounds_ns);
        }
        generator.end(1);
        if generator.assembler.is_used(failed) {
            generator.assembler.place(failed);
            if notes {
                // The step did not happen: what follows must not restore or end the frame.
                generator.assembler.alu_32(Alu::And, R9, (!bit).cast_signed());
                generator.assembler.store(Size::Word, R6, CONTROL_BLOCK, R9);
            }
            generator.end(0);
        }
        filters.push(generator.finish(Action::Send { route: job.route, to: job.to, how: step.how() })?);
        if restores(step) {
            let mut generator = Generator::new(&mut maps, of);
            generator.load_steps();
            generator.unless_step(bit);
            generator.restore();
            filters.push(generator.finish(Action::Nothing)?);
        }
    }
    if ends {
        let numbered = steps.iter().enumerate();
        let bits = numbered.filter(|(_, step)| step.needs_end()).fold(0, |bits, (at, _)| bits | 1 << at);
        let mut generator = Generator::new(&mut maps, of);
        generator.load_steps();
        generator.unless_step(bits);
        generator.end(1);
        filters.push(generator.finish(Action::End)?);
    }
    Ok(Filters { filters, maps })
}

/// A first filter for no frame.
pub(super) fn idle() -> Filter {
    let mut assembler = Assembler::new();
    assembler.set(R0, 0);
    assembler.store(Size::Word, R1, CONTROL_BLOCK, R0);
    assembler.exit();
    Filter { program: assembler.finish().expect("it has no jump"), action: Action::Nothing }
}

pub(super) fn guard() -> Filter {
    let mut assembler = Assembler::new();
    let over = assembler.label();
    assembler.load(Size::Word, R2, R1, MARK);
    assembler.jump_if_32(Condition::Above, R2, i32::MAX, over);
    assembler.alu_32(Alu::Add, R2, ONE_PASS);
    assembler.store(Size::Word, R1, MARK, R2);
    assembler.set(R0, 0);
    assembler.exit();
    assembler.place(over);
    assembler.set(R0, 1);
    assembler.exit();
    Filter { program: assembler.finish().expect("it has one jump"), action: Action::End }
}

/// The most frequent gateway, with the fewest instructions: a call keeps no register for it.
fn one_value(jobs: &[Job], step: &Step, kind: Kind, (mask, value): (u32, u32)) -> Result<Filter, CompileError> {
    let mut assembler = Assembler::new();
    let (hit, none) = (assembler.label(), assembler.label());
    assembler.set(R2, 0);
    assembler.store(Size::Word, R1, CONTROL_BLOCK, R2);
    assembler.load(Size::Word, R2, R1, DATA);
    assembler.load(Size::Word, R3, R1, DATA_END);
    assembler.set(R4, R2);
    assembler.alu(Alu::Add, R4, i32::from(frame_bytes(kind)));
    assembler.jump_if(Condition::Above, R4, R3, none);
    assembler.load(Size::Word, R4, R2, 0);
    // Frames of the kernel's drivers have no bits that the mask leaves out, except with a mask of a route.
    assembler.jump_if_32(Condition::Equal, R4, value.cast_signed(), hit);
    assembler.alu_32(Alu::And, R4, (mask | CAN_ERR_FLAG).cast_signed());
    assembler.jump_if_32(Condition::NotEqual, R4, value.cast_signed(), none);
    assembler.place(hit);
    assembler.set(R0, 1);
    assembler.exit();
    assembler.place(none);
    assembler.set(R0, 0);
    assembler.exit();
    let job = &jobs[step.jobs[0]];
    let action = Action::Send { route: job.route, to: job.to, how: step.how() };
    Ok(Filter { program: assembler.finish()?, action })
}

impl Generator<'_> {
    /// The steps of the frame, if the first filter of this generation noted them.
    fn load_steps(&mut self) {
        self.assembler.load(Size::Word, R9, R6, CONTROL_BLOCK);
        let odd = Generation::Odd.bit().cast_signed();
        match self.generation {
            Generation::Even => self.assembler.jump_if_32(Condition::AnyBit, R9, odd, self.none),
            Generation::Odd => {
                let ours = self.assembler.label();
                self.assembler.jump_if_32(Condition::AnyBit, R9, odd, ours);
                self.assembler.jump(self.none);
                self.assembler.place(ours);
            }
        }
    }

    fn unless_step(&mut self, bits: u32) {
        let hit = self.assembler.label();
        self.assembler.jump_if_32(Condition::AnyBit, R9, bits.cast_signed(), hit);
        self.assembler.jump(self.none);
        self.assembler.place(hit);
    }

    /// The steps of the frame into R9 and, if later programs read them, into the control block. Ends the program if there are
    /// none.
    fn look_up(&mut self, tables: &Tables, notes: bool) {
        let found = self.assembler.label();
        // For frames that end early.
        self.assembler.set(R9, 0);
        self.assembler.store(Size::Word, R6, CONTROL_BLOCK, R9);
        self.load_frame();
        if self.kind == Kind::Fd {
            self.mark_fd();
        }
        if tables.size() > FEW_VALUES {
            self.look_up_in_tables(tables, found);
        } else {
            self.compare(tables, found);
        }
        self.assembler.place(found);
        self.assembler.jump_if_32(Condition::Equal, R9, 0, self.none);
        if notes {
            if self.generation != Generation::Even {
                self.assembler.alu_32(Alu::Or, R9, self.generation.bit().cast_signed());
            }
            self.assembler.store(Size::Word, R6, CONTROL_BLOCK, R9);
        }
    }

    /// Some drivers do not set FDF in received frames, but the kernel sets it in all sent ones.
    fn mark_fd(&mut self) {
        let marked = self.assembler.label();
        self.assembler.load(Size::Byte, R1, R7, FLAGS);
        self.assembler.jump_if_32(Condition::AnyBit, R1, i32::from(CANFD_FDF), marked);
        self.assembler.alu_32(Alu::Or, R1, i32::from(CANFD_FDF));
        self.assembler.store(Size::Byte, R10, -1, R1);
        self.store_bytes(FLAGS, -1, 1);
        self.assembler.jump_if(Condition::NotEqual, R0, 0, self.none);
        self.load_frame();
        self.assembler.place(marked);
    }

    /// All steps of an error frame, and of others those that every frame takes.
    fn start(&mut self, tables: &Tables, found: Label) {
        let no_error = self.assembler.label();
        self.assembler.set(R9, 0);
        self.assembler.alu_32(Alu::Move, R1, R8);
        self.assembler.alu_32(Alu::And, R1, CAN_ERR_FLAG.cast_signed());
        self.assembler.jump_if_32(Condition::Equal, R1, 0, no_error);
        for &(classes, bit) in &tables.errors {
            let next = self.assembler.label();
            self.assembler.alu_32(Alu::Move, R1, R8);
            self.assembler.alu_32(Alu::And, R1, classes.cast_signed());
            self.assembler.jump_if_32(Condition::Equal, R1, 0, next);
            self.assembler.alu_32(Alu::Or, R9, bit.cast_signed());
            self.assembler.place(next);
        }
        self.assembler.jump(found);
        self.assembler.place(no_error);
        self.assembler.set(R9, tables.always.cast_signed());
    }

    /// One comparison after another.
    fn compare(&mut self, tables: &Tables, found: Label) {
        self.start(tables, found);
        for group in &tables.groups {
            let done = self.assembler.label();
            self.assembler.alu_32(Alu::Move, R1, R8);
            self.assembler.alu_32(Alu::And, R1, group.mask.cast_signed());
            for (&value, &bits) in &group.values {
                let next = self.assembler.label();
                self.assembler.jump_if_32(Condition::NotEqual, R1, value.cast_signed(), next);
                self.assembler.alu_32(Alu::Or, R9, bits.cast_signed());
                self.assembler.jump(done);
                self.assembler.place(next);
            }
            self.assembler.alu_32(Alu::Or, R9, group.otherwise.cast_signed());
            self.assembler.place(done);
        }
    }

    /// A direct table for data frames with 11-bit identifiers, and a hash table for each mask.
    fn look_up_in_tables(&mut self, tables: &Tables, found: Label) {
        let general = self.assembler.label();
        let standard = tables.standard().into_iter().flat_map(u32::to_ne_bytes).collect();
        let standard = self.map(Map::Array(standard));
        self.assembler.jump_if_32(Condition::Above, R8, CAN_SFF_MASK.cast_signed(), general);
        self.assembler.alu_32(Alu::Move, R1, R8);
        self.assembler.alu(Alu::ShiftLeft, R1, 2);
        self.assembler.set_map_value(R2, standard);
        self.assembler.alu(Alu::Add, R2, R1);
        self.assembler.load(Size::Word, R9, R2, 0);
        self.assembler.jump(found);

        self.assembler.place(general);
        self.start(tables, found);
        for group in &tables.groups {
            let (missing, done) = (self.assembler.label(), self.assembler.label());
            let map = self.map(Map::Hash(group.values.iter().map(|(&id, &bits)| (id, bits)).collect()));
            self.assembler.alu_32(Alu::Move, R1, R8);
            self.assembler.alu_32(Alu::And, R1, group.mask.cast_signed());
            self.assembler.store(Size::Word, R10, -4, R1);
            self.assembler.set_map(R1, map);
            self.assembler.set(R2, R10);
            self.assembler.alu(Alu::Add, R2, -4);
            self.assembler.call(MAP_LOOKUP);
            self.assembler.jump_if(Condition::Equal, R0, 0, missing);
            self.assembler.load(Size::Word, R1, R0, 0);
            self.assembler.alu_32(Alu::Or, R9, R1);
            self.assembler.jump(done);
            self.assembler.place(missing);
            self.assembler.alu_32(Alu::Or, R9, group.otherwise.cast_signed());
            self.assembler.place(done);
        }
    }

    /// Jumps to `failed` unless one of the payloads of the job matches.
    fn payload(&mut self, job: &Job, failed: Label) {
        if job.payload.is_empty() || job.payload.iter().any(|pattern| pattern.bytes() == 0) {
            return;
        }
        let fits = self.assembler.label();
        self.assembler.alu_32(Alu::Move, R1, R8);
        self.assembler.alu_32(Alu::And, R1, CAN_RTR_FLAG.cast_signed());
        self.assembler.jump_if_32(Condition::NotEqual, R1, 0, failed);
        for pattern in &job.payload {
            let next = self.assembler.label();
            self.assembler.load(Size::Byte, R1, R7, LEN);
            let bytes = i32::try_from(pattern.bytes()).unwrap_or(i32::MAX);
            self.assembler.jump_if_32(Condition::Below, R1, bytes, next);
            let words = pattern.mask.as_chunks().0.iter().zip(pattern.value.as_chunks().0);
            let words = (PAYLOAD..self.frame_bytes()).step_by(8).zip(words);
            for (offset, (mask, value)) in words.filter(|(_, (mask, _))| **mask != [0; 8]) {
                self.assembler.load(Size::Double, R1, R7, offset);
                self.assembler.set_wide(R2, u64::from_ne_bytes(*mask));
                self.assembler.alu(Alu::And, R1, R2);
                self.assembler.set_wide(R2, u64::from_ne_bytes(*value));
                self.assembler.jump_if(Condition::NotEqual, R1, R2, next);
            }
            self.assembler.jump(fits);
            self.assembler.place(next);
        }
        self.assembler.jump(failed);
        self.assembler.place(fits);
    }

    /// The changed frame on the stack, and from there into the buffer.
    fn change(&mut self, job: &Job, deleted: Option<(MapIndex, usize)>, failed: Label) {
        let delete = self.assembler.label();
        change::on_stack(self, job, delete);
        let bytes = self.frame_bytes();
        self.store_bytes(0, -bytes, bytes);
        self.assembler.jump_if(Condition::NotEqual, R0, 0, failed);
        let sent = self.assembler.label();
        if !self.assembler.is_used(delete) {
            return;
        }
        self.assembler.jump(sent);
        self.assembler.place(delete);
        if let Some((map, number)) = deleted {
            self.assembler.set_map_value(R1, map);
            self.assembler.set(R2, 1);
            self.assembler.add_to_memory(R1, i16::try_from(8 * number).expect("a program has a few steps"), R2);
        }
        self.assembler.jump(failed);
        self.assembler.place(sent);
    }

    /// Counts the time since the receive timestamp of a frame. Keeps R6 and R9.
    fn latency(&mut self, [ahead, latencies]: [MapIndex; 2], step: usize, bounds_ns: &[u32]) {
        let offset = |number: usize| i16::try_from(8 * number).expect("a program has a few steps and classes");
        let assembler = &mut self.assembler;
        let counted = assembler.label();
        assembler.load(Size::Double, R7, R6, TSTAMP);
        assembler.jump_if(Condition::Equal, R7, 0, counted);
        assembler.call(KTIME_GET_TAI_NS);
        assembler.alu(Alu::Sub, R0, R7);
        assembler.set_map_value(R1, ahead);
        assembler.load(Size::Double, R2, R1, 0);
        assembler.alu(Alu::Sub, R0, R2);
        // A clock that was set back.
        let positive = assembler.label();
        assembler.set(R2, R0);
        assembler.alu(Alu::ShiftRight, R2, 63);
        assembler.jump_if(Condition::Equal, R2, 0, positive);
        assembler.set(R0, 0);
        assembler.place(positive);
        let first = step * (2 + bounds_ns.len());
        assembler.set_map_value(R1, latencies);
        assembler.add_to_memory(R1, offset(first), R0);
        assembler.set(R2, 1);
        // Without CAP_PERFMON, a place in a map that depends on the class is not allowed.
        for (class, bound) in bounds_ns.iter().enumerate() {
            let next = assembler.label();
            assembler.jump_if(Condition::Above, R0, bound.cast_signed(), next);
            assembler.add_to_memory(R1, offset(first + 1 + class), R2);
            assembler.jump(counted);
            assembler.place(next);
        }
        assembler.add_to_memory(R1, offset(first + 1 + bounds_ns.len()), R2);
        assembler.place(counted);
    }

    /// The classic frame into the control block.
    fn save(&mut self) {
        for (at, place) in (0..).step_by(4).zip(SAVED) {
            self.assembler.load(Size::Word, R1, R7, at);
            self.assembler.store(Size::Word, R6, place, R1);
        }
    }

    fn restore(&mut self) {
        for (at, place) in (-16..).step_by(4).zip(SAVED) {
            self.assembler.load(Size::Word, R1, R6, place);
            self.assembler.store(Size::Word, R10, at, R1);
        }
        self.store_bytes(0, -16, 16);
    }
}
