//! The programs of queues on a simple machine, compared with the oracle.

use std::collections::{BTreeMap, HashMap};

use candor_core::bits::WireBits;
use candor_core::frame::{Frame, RawId};
use candor_core::random::SplitMix64;

use super::layout::{BufferLayout, Functions, InterfaceLayout, QueueLayout};
use super::oracle::{Arrival, Oracle};
use super::*;
use crate::machine::{self, Stack, World};

const SCHEDULES: u64 = 1000;
const STEPS: usize = 150;

const LAYOUT: Layout = Layout {
    buffer: BufferLayout { data: 8, protocol: 16, socket: 24, length: 32 },
    queue: QueueLayout { limit: 4, waiting: 8, backlog: 12, drops: 16, overlimits: 20 },
    interface: InterfaceLayout { transmit_queue: 32, interface: 8, index: 4, namespace: 16, number: 12 },
    functions: Functions { cast: 101, count: 102, drop: 103, free: 104 },
    word: TypeId(7),
    operations: TypeId(8),
    value: TypeId(9),
    value_bytes: 0,
    operations_offset: 0,
    name_offset: 0,
    members: [Member { position: 0, offset: 0 }; 5],
};
const ETH_P_CAN: u16 = 0x0C;
const ETH_P_CANFD: u16 = 0x0D;
const ETH_P_CANXL: u16 = 0x0E;
const MAP: u64 = 0xFFFF << 32;
const INTERFACE: u32 = 5;
const NAMESPACE: u32 = 0xF000_0001;

/// A kernel with one queue. Memory that was freed is not there any more.
struct Kernel {
    memory: BTreeMap<u64, Vec<u8>>,
    next: u64,
    programs: HashMap<Operation, Vec<crate::assembler::Instruction>>,
    state: u64,
    slots: Vec<u64>,
    sockets: BTreeMap<u64, u64>,
    qdisc: u64,
    now_ns: u64,
    /// Buffers that were freed since the last look.
    freed: Vec<u64>,
    sent: u64,
}

impl Kernel {
    fn new(options: &Options) -> Self {
        let queue = compile(options, &LAYOUT).unwrap();
        let descriptor = |map: MapIndex| i32::try_from(map.0).unwrap();
        let programs = queue.programs.iter().map(|(operation, program)| (*operation, program.with_maps(descriptor)));
        let mut kernel = Self {
            memory: BTreeMap::new(),
            next: 0x100,
            programs: programs.collect(),
            state: 0,
            slots: Vec::new(),
            sockets: BTreeMap::new(),
            qdisc: 0,
            now_ns: 1_000_000,
            freed: Vec::new(),
            sent: 0,
        };
        let Map::State(state) = &queue.maps[0] else { panic!("{queue:?}") };
        kernel.state = kernel.allocate(state.clone());
        kernel.slots = (0..options.limit).map(|_| kernel.allocate(vec![0; SLOT_BYTES as usize])).collect();
        let [qdisc, transmit_queue, interface, namespace] = [(); 4].map(|()| kernel.allocate(vec![0; 64]));
        kernel.qdisc = qdisc;
        kernel.store(qdisc + 32, 8, transmit_queue);
        kernel.store(transmit_queue + 8, 8, interface);
        kernel.store(interface + 4, 4, INTERFACE.into());
        kernel.store(interface + 16, 8, namespace);
        kernel.store(namespace + 12, 4, NAMESPACE.into());
        assert_eq!(kernel.run(Operation::Init, &[qdisc, 0, 0]), 0);
        kernel
    }

    fn allocate(&mut self, bytes: Vec<u8>) -> u64 {
        self.next += 1;
        self.memory.insert(self.next << 32, bytes);
        self.next << 32
    }

    fn run(&mut self, operation: Operation, arguments: &[u64]) -> u64 {
        let context = self.allocate(arguments.iter().flat_map(|argument| argument.to_ne_bytes()).collect());
        let program = self.programs[&operation].clone();
        let (result, _) = machine::execute(&program, context, self);
        self.memory.remove(&context);
        result
    }

    fn buffer(&mut self, id: u32, protocol: u16, socket: u64) -> u64 {
        let frame = self.allocate(id.to_ne_bytes().to_vec());
        let buffer = self.allocate(vec![0; 40]);
        self.store(buffer + 8, 8, frame);
        self.store(buffer + 16, 2, protocol.to_be().into());
        self.store(buffer + 24, 8, socket);
        self.store(buffer + 32, 4, if protocol == ETH_P_CAN { 16 } else { 72 });
        buffer
    }

    fn free(&mut self, buffer: u64) {
        let frame = self.load(buffer + 8, 8);
        self.memory.remove(&frame).unwrap();
        self.memory.remove(&buffer).unwrap();
        self.freed.push(buffer);
    }

    fn enqueue(&mut self, buffer: u64) -> u64 {
        self.run(Operation::Enqueue, &[buffer, self.qdisc, 0])
    }

    fn dequeue(&mut self) -> Option<u64> {
        let buffer = self.run(Operation::Dequeue, &[self.qdisc]);
        (buffer != 0).then_some(buffer)
    }

    fn statistics(&self) -> Statistics {
        Statistics::read(&self.memory[&self.state]).unwrap()
    }

    /// Waiting frames, their bytes, drops and overlimits of `struct Qdisc`.
    fn counted(&mut self) -> [u64; 4] {
        [8, 12, 16, 20].map(|offset| self.load(self.qdisc + offset, 4))
    }

    fn place(&mut self, address: u64, bytes: usize) -> &mut [u8] {
        let offset = usize::try_from(address & 0xFFFF_FFFF).unwrap();
        assert_eq!(offset % bytes, 0, "not aligned");
        let memory = self.memory.get_mut(&(address & !0xFFFF_FFFF)).expect("the address exists");
        &mut memory[offset..offset + bytes]
    }
}

impl World for Kernel {
    fn address(&self, kind: usize, number: u64) -> u64 {
        match (kind, number) {
            (1, _) => MAP + number,
            (2, 0) => self.state,
            other => panic!("{other:?}"),
        }
    }

    fn load(&mut self, address: u64, bytes: usize) -> u64 {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(self.place(address, bytes));
        u64::from_ne_bytes(value)
    }

    fn store(&mut self, address: u64, bytes: usize, value: u64) {
        self.place(address, bytes).copy_from_slice(&value.to_ne_bytes()[..bytes]);
    }

    fn call(&mut self, helper: u64, [first, second, third, ..]: [u64; 5], stack: &Stack) -> u64 {
        match (helper, first.wrapping_sub(MAP)) {
            (1, 1) => self.slots.get(usize::try_from(stack.load(second, 4)).unwrap()).copied().unwrap_or(0),
            (1, 2) => self.sockets.get(&stack.load(second, 8)).copied().unwrap_or(0),
            (2, 2) => {
                let value = self.allocate(stack.load(third, 8).to_ne_bytes().to_vec());
                self.sockets.insert(stack.load(second, 8), value);
                0
            }
            (3, 2) => {
                let value = self.sockets.remove(&stack.load(second, 8));
                value.map_or(u64::MAX, |value| {
                    self.memory.remove(&value);
                    0
                })
            }
            (5, _) => self.now_ns,
            (194, _) => {
                let before = self.load(first, 8);
                self.store(first, 8, second);
                before
            }
            other => panic!("{other:?}"),
        }
    }

    fn call_kernel(&mut self, function: u64, [first, second, ..]: [u64; 5]) -> u64 {
        match function {
            101 => {
                assert_eq!(second, 7);
                first
            }
            102 => {
                self.sent += 1;
                0
            }
            103 | 104 => {
                self.free(first);
                0
            }
            other => panic!("{other}"),
        }
    }
}

fn random_options(random: &mut SplitMix64) -> Options {
    Options {
        limit: u32::try_from([1, 2, 3, 10, 63, 64, 65][random.below(7)]).unwrap(),
        limit_per_socket: [None, Some(1), Some(10)][random.below(3)],
        max_age_ns: [None, Some(1000)][random.below(2)],
        replace_same_id: random.below(2) == 1,
    }
}

fn random_id(random: &mut SplitMix64) -> u32 {
    let base = [0, 1, 0x123, 0x7FF][random.below(4)];
    let remote = if random.below(4) == 0 { CAN_RTR_FLAG } else { 0 };
    let extension = [0, 1, 0x3_FFFF][random.below(3)];
    match random.below(3) {
        0 => base | remote,
        1 => base << 18 | extension | CAN_EFF_FLAG | remote,
        _ => u32::try_from(random.next_u64() & u64::from(CAN_EFF_MASK)).unwrap() | CAN_EFF_FLAG | remote,
    }
}

fn schedule(seed: u64) {
    let mut random = SplitMix64::new(seed);
    let options = random_options(&mut random);
    let mut kernel = Kernel::new(&options);
    let mut oracle = Oracle::new(options);
    let owner = u64::from(NAMESPACE) << 32 | u64::from(INTERFACE);
    let mut expected = Statistics { owner, ..Statistics::default() };
    // More arrive than leave, then more leave than arrive.
    for step in 0..STEPS {
        kernel.now_ns += random.below(100) as u64;
        let busy = if step % 60 < 40 { 4 } else { 1 };
        if random.below(50) == 0 {
            assert_eq!(kernel.run(Operation::Reset, &[kernel.qdisc]), 0);
            let mut lost = oracle.reset();
            kernel.freed.sort_unstable();
            lost.sort_unstable();
            assert_eq!(std::mem::take(&mut kernel.freed), lost, "{seed}");
        } else if random.below(5) < busy {
            let id = random_id(&mut random);
            let protocol = if id & CAN_RTR_FLAG == 0 && random.below(2) == 0 { ETH_P_CANFD } else { ETH_P_CAN };
            let socket = random.below(4) as u64;
            let buffer = kernel.buffer(id, protocol, socket);
            let result = kernel.enqueue(buffer);
            let arrival = oracle.arrive(key(id), (socket != 0).then_some(socket), kernel.now_ns, buffer);
            let freed = match arrival {
                Arrival::Full => {
                    expected.full += 1;
                    vec![buffer]
                }
                Arrival::Socket => {
                    expected.socket += 1;
                    vec![buffer]
                }
                Arrival::Replaced(before) => {
                    expected.replaced += 1;
                    vec![before]
                }
                Arrival::Waits => vec![],
            };
            assert_eq!(result, u64::from(matches!(arrival, Arrival::Full | Arrival::Socket)), "{seed}");
            assert_eq!(std::mem::take(&mut kernel.freed), freed, "{seed}");
        } else {
            let departure = oracle.depart(kernel.now_ns);
            expected.expired += departure.expired.len() as u64;
            let found = kernel.dequeue();
            assert_eq!(found, departure.frame, "{seed} {options:?}");
            assert_eq!(std::mem::take(&mut kernel.freed), departure.expired, "{seed}");
            if let Some(buffer) = found {
                kernel.free(buffer);
                kernel.freed.clear();
            }
        }
        expected.waiting = oracle.len() as u64;
        assert_eq!(kernel.statistics(), expected, "{seed} {options:?}");
        let drops = expected.full + expected.socket + expected.expired + expected.replaced;
        let [waiting, _, found_drops, overlimits] = kernel.counted();
        assert_eq!((waiting, found_drops, overlimits), (expected.waiting, drops, expected.socket), "{seed}");
    }
    while let Some(buffer) = kernel.dequeue() {
        kernel.free(buffer);
    }
    assert_eq!(kernel.counted()[..2], [0, 0]);
    assert!(kernel.sockets.is_empty());
}

#[test]
fn random_schedules_do_what_the_oracle_says() {
    (0..SCHEDULES).for_each(schedule);
}

#[test]
fn a_second_queue_cannot_take_the_same_maps() {
    let options = Options { limit: 10, limit_per_socket: None, max_age_ns: None, replace_same_id: false };
    let mut kernel = Kernel::new(&options);
    let result = kernel.run(Operation::Init, &[kernel.qdisc, 0, 0]);
    assert_eq!(result.cast_signed(), -16);
}

#[test]
fn the_lower_key_wins_arbitration() {
    let mut random = SplitMix64::new(0);
    let bits = |id: u32| WireBits::of(&Frame::classic(RawId(id), &[]).unwrap());
    for _ in 0..10_000 {
        let [one, other] = [(); 2].map(|()| random_id(&mut random));
        if key(one) == key(other) {
            assert_eq!(one, other);
            continue;
        }
        let (one_bits, other_bits) = (bits(one), bits(other));
        let differs = one_bits.first_difference(&other_bits).unwrap();
        assert_eq!(key(one) < key(other), other_bits.is_recessive(differs), "{one:x} {other:x}");
    }
}

#[test]
fn impossible_limits_are_refused() {
    let options = Options { limit: 10, limit_per_socket: None, max_age_ns: None, replace_same_id: false };
    let refused = |options| compile(&options, &LAYOUT).unwrap_err();
    for limit in [0, MAX_FRAMES + 1] {
        assert_eq!(refused(Options { limit, ..options }), CompileError::Limit(limit));
    }
    assert_eq!(refused(Options { limit_per_socket: Some(0), ..options }), CompileError::SocketLimit);
    assert!(compile(&Options { limit: MAX_FRAMES, ..options }, &LAYOUT).is_ok());
}

/// The first word of CAN XL has the priority in its lower 11 bits, and the virtual network above them.
#[test]
fn formats_compete_by_their_identifiers() {
    let options = Options { limit: 10, limit_per_socket: None, max_age_ns: None, replace_same_id: false };
    let mut kernel = Kernel::new(&options);
    let sent = [(0x0055_0124, ETH_P_CANXL), (0x124, ETH_P_CAN), (0x123, ETH_P_CANFD), (0x00AA_0122, ETH_P_CANXL)];
    let sent = sent.map(|(id, protocol)| kernel.buffer(id, protocol, 0));
    assert!(sent.iter().all(|buffer| kernel.enqueue(*buffer) == 0));
    let left: Vec<_> = std::iter::from_fn(|| kernel.dequeue()).collect();
    assert_eq!(left, [3, 2, 0, 1].map(|number| sent[number]));
}

/// docs/adr/0014 has the largest number.
#[test]
fn programs_are_short() {
    let options = Options { limit: 100, limit_per_socket: Some(10), max_age_ns: Some(1), replace_same_id: true };
    let programs = compile(&options, &LAYOUT).unwrap().programs;
    let lengths: Vec<_> = programs.iter().map(|(_, program)| program.len()).collect();
    assert_eq!(lengths, [122, 2, 223, 19, 40]);
}
