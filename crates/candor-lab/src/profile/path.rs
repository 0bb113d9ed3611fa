//! The instructions between the two stamps of a frame, by call stack.

use std::collections::{BTreeMap, HashMap};

use super::addresses::{Function, FunctionId, Functions};
use super::trace::Trace;
use crate::record::Sample;

/// Reads the clock for the stamps of frames, as many instructions after it begins each time.
///
/// # Source
/// `__net_timestamp()` of [`include/linux/skbuff.h`](https://elixir.bootlin.com/linux/v6.1/source/include/linux/skbuff.h)
/// calls `ktime_get_real()`.
const STAMP: &str = "ktime_get_with_offset";

/// Instructions that latency and count may differ by: rounding of the clock.
const TOLERANCE: u64 = 2;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("The kernel has no function {0}, by which stamps are found")]
    Kernel(&'static str),
    #[error("None of the measured latencies is found in the trace of {instructions} instructions with {stamps} stamps")]
    NoFrame { instructions: usize, stamps: usize },
}

/// A call stack and the instructions of its innermost function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The outermost first.
    pub functions: Vec<Function>,
    pub instructions: u64,
}

/// Where the instructions of one frame are spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Median latency of all frames of the record.
    pub p50_ns: u64,
    /// Latency of the profiled frame in its record.
    pub latency_ns: u64,
    /// Counted from stamp to stamp.
    pub instructions: u64,
    /// Frames whose instructions are in the trace. The profiled one is that with the latency next to the median.
    pub frames: usize,
    pub stacks: Vec<Stack>,
}

impl Profile {
    /// Finds the frames of a record in a trace, and profiles the one with the latency next to the median of the record.
    ///
    /// # Errors
    /// [`PathError`]
    pub fn of(trace: &Trace, functions: &Functions, samples: &[Sample]) -> Result<Self, PathError> {
        let steps = steps(trace, functions);
        let stamps = stamps(&steps, functions)?;
        let found = frames(&stamps, samples);
        let mut all: Vec<_> = samples.iter().filter_map(latency).collect();
        all.sort_unstable();
        let p50_ns = all.get(all.len().saturating_sub(1) / 2).copied().unwrap_or_default();
        let next = found.iter().min_by_key(|frame| frame.latency_ns.abs_diff(p50_ns));
        let no_frame = PathError::NoFrame { instructions: steps.len(), stamps: stamps.len() };
        let &Frame { latency_ns, from, to } = next.ok_or(no_frame)?;
        let stacks = stacks(&steps, functions, from, to);
        Ok(Self { p50_ns, latency_ns, instructions: (to - from) as u64, frames: found.len(), stacks })
    }

    /// Instructions of each function itself, most first.
    pub fn functions(&self) -> Vec<(Function, u64)> {
        let mut sums: BTreeMap<&Function, u64> = BTreeMap::new();
        for stack in &self.stacks {
            if let Some(function) = stack.functions.last() {
                *sums.entry(function).or_default() += stack.instructions;
            }
        }
        let mut sums: Vec<_> = sums.into_iter().map(|(function, sum)| (function.clone(), sum)).collect();
        sums.sort_by(|(a, first), (b, second)| second.cmp(first).then_with(|| a.cmp(b)));
        sums
    }

    /// One line for each stack: functions separated by semicolons, and instructions.
    pub fn folded(&self) -> Vec<String> {
        let line = |stack: &Stack| {
            let names: Vec<_> = stack.functions.iter().map(|function| function.name.replace([';', ' '], "_")).collect();
            format!("{} {}", names.join(";"), stack.instructions)
        };
        self.stacks.iter().map(line).collect()
    }
}

/// The function of each instruction, and whether the instruction is its first.
fn steps(trace: &Trace, functions: &Functions) -> Vec<(FunctionId, bool)> {
    let mut known = HashMap::new();
    // Addresses below all functions do not occur.
    let mut find = |address| *known.entry(address).or_insert_with(|| functions.at(address).unwrap_or_default());
    trace.instructions.iter().map(|&address| find(address)).collect()
}

/// Positions at which the clock is read for a stamp.
fn stamps(steps: &[(FunctionId, bool)], functions: &Functions) -> Result<Vec<usize>, PathError> {
    let stamp = functions.named(STAMP).ok_or(PathError::Kernel(STAMP))?;
    Ok((0..steps.len()).filter(|&at| steps[at] == (stamp, true)).collect())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    latency_ns: u64,
    from: usize,
    to: usize,
}

fn latency(sample: &Sample) -> Option<u64> {
    u64::try_from(sample.far_ns? - sample.monitor_ns?).ok()
}

/// The longest run of consecutive samples whose latencies are distances of stamps, each frame after the one before.
fn frames(stamps: &[usize], samples: &[Sample]) -> Vec<Frame> {
    let latencies: Vec<_> = samples.iter().map(latency).collect();
    let mut best = Vec::new();
    for first in 0..latencies.len() {
        let mut run: Vec<Frame> = Vec::new();
        for latency_ns in &latencies[first..] {
            let after = run.last().map_or(0, |frame| frame.to);
            let Some(frame) = latency_ns.and_then(|latency_ns| next_frame(stamps, after, latency_ns)) else { break };
            run.push(frame);
        }
        if run.len() > best.len() {
            best = run;
        }
    }
    best
}

/// The first pair of stamps after a position with this distance.
fn next_frame(stamps: &[usize], after: usize, latency_ns: u64) -> Option<Frame> {
    let begin = stamps.partition_point(|&at| at < after);
    stamps[begin..].iter().enumerate().find_map(|(number, &from)| {
        let is_it = |&&to: &&usize| ((to - from) as u64).abs_diff(latency_ns) <= TOLERANCE;
        let to = stamps[begin + number..].iter().find(is_it)?;
        Some(Frame { latency_ns, from, to: *to })
    })
}

/// Follows calls and returns, and counts the instructions from `from` to `to` by stack.
///
/// A function that begins is called by the one before it, or interrupts it. One that continues returns to its place in the stack.
/// After a switch to another process, its functions are found in the stack that it was left with. What a thunk of an indirect
/// call jumps to is called by the caller of the thunk.
fn stacks(steps: &[(FunctionId, bool)], functions: &Functions, from: usize, to: usize) -> Vec<Stack> {
    let mut counted: BTreeMap<Vec<FunctionId>, u64> = BTreeMap::new();
    let switch = functions.named("__switch_to_asm");
    // Of processes that wait, the last one left at the end.
    let (mut stack, mut parked): (Vec<FunctionId>, Vec<Vec<FunctionId>>) = (Vec::new(), Vec::new());
    for (at, &(function, begins)) in steps.iter().enumerate().take(to) {
        if stack.last() != Some(&function) {
            if begins {
                if stack.last().is_some_and(|&caller| functions.is_thunk(caller)) {
                    stack.pop();
                }
                stack.push(function);
                if Some(function) == switch {
                    parked.push(std::mem::replace(&mut stack, vec![function]));
                }
            } else if let Some(place) = stack.iter().rposition(|&known| known == function) {
                stack.truncate(place + 1);
            } else {
                // The innermost known caller of what has just returned.
                let bottom = stack.first().copied();
                let calls = |other: &Vec<FunctionId>| {
                    other.windows(2).rposition(|pair| pair[0] == function && Some(pair[1]) == bottom)
                };
                // The last one is that of the process that has just been left.
                let others = parked.len().saturating_sub(usize::from(bottom == switch));
                let resumed =
                    parked[..others].iter().enumerate().rev().find_map(|(at, other)| Some((at, calls(other)?)));
                stack = match resumed {
                    Some((at, calls)) => {
                        let mut other = parked.remove(at);
                        other.truncate(calls + 1);
                        other
                    }
                    None => vec![function],
                };
            }
        }
        if at >= from {
            match counted.get_mut(&stack) {
                Some(count) => *count += 1,
                None => drop(counted.insert(stack.clone(), 1)),
            }
        }
    }
    let named = |stack: Vec<FunctionId>| stack.into_iter().map(|id| functions.get(id).clone()).collect();
    counted.into_iter().map(|(stack, instructions)| Stack { functions: named(stack), instructions }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Disposition;

    /// Functions of 16 instructions: a from 0x10, b from 0x20, …
    fn functions() -> Functions {
        let names =
            ["a", "b", "c", "x_thunk", STAMP, "clock", "__switch_to_asm", "__schedule", "schedule", "wait", "irq"];
        let lines: Vec<_> = (1..).zip(names).map(|(number, name)| format!("k {:x} {name} \n", number * 0x10)).collect();
        Functions::parse(&lines.concat(), |_| None).unwrap()
    }

    /// Instructions of functions: `a+` at their start, `a` inside.
    fn trace(words: &str) -> Trace {
        let functions = functions();
        let address = |word: &str| {
            let (name, inside) = word.strip_suffix('+').map_or((word, 1), |name| (name, 0));
            let name = match name {
                "stamp" => STAMP,
                "switch" => "__switch_to_asm",
                name => name,
            };
            u64::from(functions.named(name).unwrap() + 1) * 0x10 + inside
        };
        Trace { instructions: words.split_whitespace().map(address).collect() }
    }

    fn sample(latency_ns: i64) -> Sample {
        Sample {
            sequence: 0,
            tag: 0,
            due_ns: 0,
            sent_ns: 0,
            monitor_ns: Some(100),
            far_ns: Some(100 + latency_ns),
            inside: crate::record::Inside::default(),
            disposition: Disposition::Ok,
            wire_ns: 0,
        }
    }

    /// The folded stacks of a whole trace.
    fn folded(words: &str) -> Vec<String> {
        let (trace, functions) = (trace(words), functions());
        let steps = steps(&trace, &functions);
        let stacks = stacks(&steps, &functions, 0, steps.len());
        Profile { p50_ns: 0, latency_ns: 0, instructions: 0, frames: 0, stacks }.folded()
    }

    #[test]
    fn calls_and_returns_make_a_stack() {
        assert_eq!(folded("a+ a b+ b b c+ b a irq+ irq a"), ["a 4", "a;b 4", "a;b;c 1", "a;irq 2"]);
        assert_eq!(folded("a+ x_thunk+ x_thunk b+ b a"), ["a 2", "a;b 2", "a;x_thunk 2"]);
    }

    #[test]
    fn a_resumed_process_finds_its_stack() {
        let left = "wait+ schedule+ __schedule+ switch+ switch";
        let other = "__schedule c+ c schedule+ __schedule+ switch+";
        // The first process returns from its switch into the functions that wait for it.
        let stacks = folded(&format!("{left} {other} __schedule schedule wait"));
        let of_wait = |line: &str| stacks.iter().any(|found| found == line);
        assert!(of_wait("wait;schedule 2") && of_wait("wait 2"), "{stacks:?}");
    }

    #[test]
    fn frames_are_found_by_their_latency() {
        let stamp = "stamp+ x_thunk clock+ clock";
        let path = |instructions: usize| format!("{stamp} {} {stamp} c+ ", "b ".repeat(instructions));
        // Other reads of the clock do not count.
        let words = format!("a+ clock+ {} clock+ {} a {}", path(40), path(20), path(30));
        let (trace, functions) = (trace(&words), functions());
        // Two frames before the trace, and one after it.
        let samples = [90, 70, 44, 24, 34, 44].map(sample);
        let profile = Profile::of(&trace, &functions, &samples).unwrap();
        assert_eq!((profile.frames, profile.p50_ns), (3, 44));
        assert_eq!((profile.latency_ns, profile.instructions), (44, 44));
        assert_eq!(profile.functions().iter().map(|(_, count)| count).sum::<u64>(), 44);
        let missing = Profile::of(&trace, &functions, &[sample(1000)]).unwrap_err();
        assert!(matches!(missing, PathError::NoFrame { stamps: 6, .. }), "{missing}");
        let none = Functions::parse("k 10 a \n", |_| None).unwrap();
        assert_eq!(Profile::of(&trace, &none, &samples), Err(PathError::Kernel(STAMP)));
    }
}
