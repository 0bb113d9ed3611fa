//! Actions, and the class and actions at the end of a filter: `flowid 1:1 action skbedit priority 1:1 action drop`.

use crate::action::{Action, Mirred, Police, PoliceBytes, PoliceFrames, Verdict};
use crate::constants::Constant;
use crate::handle::Handle;
use candor_core::document::quote;

use super::args::{Args, Wrong};
use super::code;
use super::units::{bucket, class_handle, handle, hex, long, number, rate};

/// The kernel's default: 255 cells of 8 bytes of the rate table that `tc` sends.
const USUAL_MTU_BYTES: u32 = 2040;

const KINDS: &[&str] =
    &["skbedit", "mirred", "police", "gact", "continue", "drop", "shot", "pass", "ok", "pipe", "reclassify"];

fn verdict_after(args: &mut Args<'_>, otherwise: Verdict) -> Verdict {
    let found = Verdict::of_word(args.next_text());
    if found.is_some() {
        args.take();
    }
    found.unwrap_or(otherwise)
}

/// True if a word begins an action; `police` and, after another action, verdicts need no `action` before them.
pub(super) fn starts_action(word: &str) -> bool {
    word == "action" || word == "police" || Verdict::of_word(word).is_some()
}

pub(super) fn read(args: &mut Args<'_>) -> Option<Vec<Action>> {
    let mut actions = Vec::new();
    while starts_action(args.next_text()) {
        args.takes("action");
        let Some(kind) = args.take() else {
            return args.missing("action", "add one, such as drop");
        };
        actions.push(match kind.text() {
            "skbedit" => skbedit(args)?,
            "mirred" => mirred(args)?,
            "police" => police(args)?,
            "gact" => {
                let word = args.value(|text| Verdict::of_word(text).ok_or_else(|| no_verdict(text)))?;
                Action::Gact { verdict: word }
            }
            word => match Verdict::of_word(word) {
                Some(verdict) => Action::Gact { verdict },
                None => {
                    return args.unknown_kind(kind, "action", KINDS, OTHERS);
                }
            },
        });
        if let Some(arg) = args.peek()
            && ["index", "cookie", "random", "hw_stats", "no_percpu"].contains(&arg.text())
        {
            let message = format!("candor does not support `{}` in an action", arg.text());
            args.skip_all();
            return args.fail(code::KIND, arg.span(), message, "remove it and its values");
        }
    }
    Some(actions)
}

const OTHERS: &[(&str, &str)] = &[
    ("bpf", "the behaviour of a BPF program is unknown"),
    ("csum", "it is for IP; use can-gw for checksums of CAN frames"),
    ("pedit", "use can-gw, which modifies frames and updates their checksums"),
    ("stolen", "tc has no syntax for it; mirred redirect has the same effect"),
    ("trap", "no CAN controller supports it"),
];

fn no_verdict(text: &str) -> Wrong {
    Wrong::new(format!("{} is not a verdict", quote(text)), format!("write one of {}", Verdict::words().join(", ")))
}

fn skbedit(args: &mut Args<'_>) -> Option<Action> {
    let (mut priority, mut mark, mut mask) = (None, None, None);
    loop {
        if args.takes("priority") {
            priority = Some(args.value(skb_priority)?);
            note_hexadecimal(args);
        } else if args.takes("mark") {
            let (value, bits) = args.value(mark_and_mask)?;
            (mark, mask) = (Some(value), bits);
        } else {
            break;
        }
    }
    if priority.is_none() && mark.is_none() {
        return args.fail(
            code::MISSING,
            args.last_span(),
            "skbedit changes nothing",
            "add priority or mark, such as skbedit priority 1:1",
        );
    }
    Some(Action::Skbedit { priority, mark, mask, verdict: verdict_after(args, Verdict::Pipe) })
}

/// `5`, or `5/0xff` for some bits.
fn mark_and_mask(text: &str) -> Result<(u32, Option<u32>), Wrong> {
    match text.split_once('/') {
        Some((value, bits)) => Ok((number(value)?, Some(number(bits)?))),
        None => Ok((number(text)?, None)),
    }
}

fn skb_priority(text: &str) -> Result<Handle, Wrong> {
    match text {
        "none" => Ok(Handle::NONE),
        _ if text.contains(':') => handle(text),
        _ => hex(text).map(Handle),
    }
}

/// Notes that a decimal number is read as hexadecimal.
fn note_hexadecimal(args: &mut Args<'_>) {
    let Some(word) = args.last() else { return };
    if word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_digit()) {
        let value = u32::from_str_radix(word, 16).unwrap_or(0);
        let message = format!("This is priority {value}: tc reads it in hexadecimal");
        args.note(code::MEANING, args.last_span(), message, format!("write 0x{word} to make that explicit"));
    }
}

fn mirred(args: &mut Args<'_>) -> Option<Action> {
    let wanted = |words: &'static str| {
        move |text: &str| {
            words.split(' ').find(|word| *word == text).ok_or_else(|| {
                Wrong::new(
                    format!("{} is not {}", quote(text), words.replace(' ', " or ")),
                    "write mirred egress redirect dev can1",
                )
            })
        }
    };
    let direction = args.value(wanted("egress ingress"))?;
    let what = args.value(wanted("redirect mirror"))?;
    let how = Mirred::of_word(&format!("{direction} {what}"))?;
    args.value(wanted("dev"))?;
    let interface = args.value(super::units::interface)?;
    if interface.starts_with('$') {
        let message = "candor cannot expand a variable here";
        return args.fail(code::EXPANSION, args.last_span(), message, "write its value");
    }
    // tc sends no other verdict for redirected frames, and takes a following word as the next action.
    let verdict = if what == "redirect" { Verdict::Stolen } else { verdict_after(args, Verdict::Pipe) };
    Some(Action::Mirred { interface, how, verdict })
}

fn police(args: &mut Args<'_>) -> Option<Action> {
    let (mut rate_given, mut burst, mut mtu) = (None, None, USUAL_MTU_BYTES);
    let (mut per_second, mut burst_frames) = (None, None);
    let (mut exceed, mut conform) = (Verdict::Reclassify, Verdict::Pass);
    let some = |text: &str| match long(text)? {
        0 => Err(Wrong::new("A limit of 0 passes no frame", "write 1 or more")),
        number => Ok(number),
    };
    loop {
        let word = args.next_text();
        match word {
            "rate" | "burst" | "buffer" | "maxburst" | "mtu" | "minburst" | "pkts_rate" | "pkts_burst"
            | "conform-exceed" => args.take(),
            _ => break,
        };
        match word {
            "rate" => rate_given = Some(args.value(rate)?),
            "mtu" | "minburst" => mtu = args.value(bucket)?,
            "pkts_rate" => per_second = Some(args.value(some)?),
            "pkts_burst" => burst_frames = Some(args.value(some)?),
            "conform-exceed" => (exceed, conform) = args.value(verdicts)?,
            _ => burst = Some(args.value(bucket)?),
        }
    }
    exceed = verdict_after(args, exceed);
    let bytes = rate_given.zip(burst).map(|(rate, burst_bytes)| PoliceBytes { rate, burst_bytes, mtu_bytes: mtu });
    let frames =
        per_second.zip(burst_frames).map(|(per_second, burst_frames)| PoliceFrames { per_second, burst_frames });
    let is_half = rate_given.is_some() != burst.is_some() || per_second.is_some() != burst_frames.is_some();
    if is_half || bytes.is_some() == frames.is_some() {
        let message = "police needs a rate and a burst, either in bytes or in frames";
        return args.fail(
            code::MISSING,
            args.last_span(),
            message,
            "write police pkts_rate 20 pkts_burst 3, or police rate 1kbit burst 16",
        );
    }
    Some(Action::Police(Police { bytes, frames, exceed, conform }))
}

/// Verdicts above and below the limit: `drop/pipe`.
fn verdicts(text: &str) -> Result<(Verdict, Verdict), Wrong> {
    let read = |word: &str| Verdict::of_word(word).ok_or_else(|| no_verdict(word));
    match text.split_once('/') {
        Some((exceed, conform)) => Ok((read(exceed)?, read(conform)?)),
        None => Ok((read(text)?, Verdict::Pass)),
    }
}

#[derive(Debug, Default)]
pub(super) struct Tail {
    pub(super) class: Option<Handle>,
    pub(super) actions: Vec<Action>,
}

impl Tail {
    /// Takes a class or actions. `None`, after reporting it, if they are wrong; otherwise true if there were any.
    pub(super) fn takes(&mut self, args: &mut Args<'_>) -> Option<bool> {
        match args.next_text() {
            "flowid" | "classid" => {
                args.take();
                self.class = Some(args.value(class)?).filter(|class| *class != Handle::NONE);
            }
            word if starts_action(word) => self.actions.extend(read(args)?),
            _ => return Some(false),
        }
        Some(true)
    }

    /// Takes the rest of the command, and reports any other word as unknown.
    pub(super) fn takes_rest(&mut self, of: &str, own: &[&str], args: &mut Args<'_>) -> Option<()> {
        while let Some(arg) = args.peek() {
            if !self.takes(args)? {
                let known: Vec<_> = own.iter().copied().chain(["flowid", "classid", "action"]).collect();
                return args.unknown(arg, of, &known);
            }
        }
        Some(())
    }
}

/// A class, or the discipline itself, with which htb sends at once; `none` is no class.
fn class(text: &str) -> Result<Handle, Wrong> {
    let handle = handle(text).ok().filter(|_| text.contains(':') || text == "none");
    handle.map_or_else(|| class_handle(text), Ok)
}
