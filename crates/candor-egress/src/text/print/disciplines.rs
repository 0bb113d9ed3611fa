//! Lines of disciplines.

use std::time::Duration;

use super::{ADD, NotSayable, major_minor, option, rate, stab};
use crate::discipline::{Discipline, Etf, Ets, FqCodel, Htb, Netem, Prio, Sfq, Tbf};
use crate::handle::Handle;
use crate::text::disciplines::CLOCKS;
use crate::tree::Qdisc;

pub(super) fn line(qdisc: &Qdisc) -> Result<String, NotSayable> {
    let Qdisc { handle, parent, stab: table, discipline } = qdisc;
    if let Discipline::Clsact = discipline {
        return Ok(format!("qdisc{ADD} clsact"));
    }
    let place = if *parent == Handle::ROOT { "root".to_owned() } else { format!("parent {}", major_minor(*parent)) };
    let handle = if *handle == Handle::NONE { String::new() } else { format!(" handle {}", major_minor(*handle)) };
    let table = table.as_ref().map_or_else(|| Ok(String::new()), stab)?;
    Ok(format!("qdisc{ADD} {place}{handle}{table} {}{}", discipline.kind(), options(discipline)?))
}

/// Kind and options, with the size table behind them.
pub(super) fn words(qdisc: &Qdisc) -> Result<String, NotSayable> {
    let table = qdisc.stab.as_ref().map_or_else(|| Ok(String::new()), stab)?;
    Ok(format!("{}{}{table}", qdisc.discipline.kind(), options(&qdisc.discipline)?))
}

fn options(discipline: &Discipline) -> Result<String, NotSayable> {
    Ok(match discipline {
        Discipline::Bfifo { limit_bytes } => option("limit", *limit_bytes),
        Discipline::Clsact | Discipline::Drr | Discipline::PfifoFast => String::new(),
        Discipline::Etf(etf) => self::etf(*etf)?,
        Discipline::Ets(ets) => self::ets(ets)?,
        Discipline::FqCodel(fq_codel) => self::fq_codel(*fq_codel),
        Discipline::Htb(htb) => self::htb(*htb)?,
        Discipline::Netem(netem) => self::netem(*netem)?,
        Discipline::Noqueue => return Err(NotSayable::ThereByItself),
        Discipline::Other { .. } => return Err(NotSayable::Other),
        Discipline::Pfifo { limit_frames }
        | Discipline::PfifoHeadDrop { limit_frames }
        | Discipline::Skbprio { limit_frames } => option("limit", *limit_frames),
        Discipline::Prio(prio) => self::prio(*prio)?,
        Discipline::Sfq(sfq) => self::sfq(*sfq)?,
        Discipline::Tbf(tbf) => self::tbf(*tbf)?,
    })
}

fn list<T: ToString>(name: &str, values: &[T]) -> String {
    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
    if values.is_empty() { String::new() } else { format!(" {name} {}", values.join(" ")) }
}

fn prio(Prio { bands, priomap }: Prio) -> Result<String, NotSayable> {
    if !(2..=16).contains(&bands) || priomap.iter().any(|band| *band >= bands) {
        return Err(NotSayable::Number);
    }
    Ok(format!(" bands {bands}{}", list("priomap", &priomap)))
}

fn ets(Ets { bands, strict, quanta_bytes, priomap }: &Ets) -> Result<String, NotSayable> {
    let named = usize::from(*strict) + quanta_bytes.len();
    let is_wrong = !(1..=16).contains(bands) || named > usize::from(*bands) || priomap.len() > 16;
    if is_wrong || quanta_bytes.contains(&0) || priomap.iter().any(|band| band >= bands) {
        return Err(NotSayable::Number);
    }
    let strict = if *strict == 0 { String::new() } else { format!(" strict {strict}") };
    Ok(format!(" bands {bands}{strict}{}{}", list("quanta", quanta_bytes), list("priomap", priomap)))
}

fn tbf(Tbf { rate: bytes, burst_bytes, limit_bytes, peak }: Tbf) -> Result<String, NotSayable> {
    if burst_bytes == 0 || peak.is_some_and(|peak| peak.burst_bytes == 0) {
        return Err(NotSayable::Number);
    }
    let mut text = format!(" rate {} burst {burst_bytes} limit {limit_bytes}", rate(bytes)?);
    if let Some(peak) = peak {
        text.push_str(&format!(" peakrate {} mtu {}", rate(peak.rate)?, peak.burst_bytes));
    }
    Ok(text)
}

fn sfq(sfq: Sfq) -> Result<String, NotSayable> {
    let Sfq { limit_frames, quantum_bytes, perturb_s, divisor, flows, depth_frames, head_drop } = sfq;
    let is_wrong_divisor = divisor.is_some_and(|slots| !slots.is_power_of_two() || slots > 65_536);
    if is_wrong_divisor || quantum_bytes == Some(0) || perturb_s.is_some_and(|seconds| i32::try_from(seconds).is_err())
    {
        return Err(NotSayable::Number);
    }
    let options = [
        ("limit", limit_frames),
        ("quantum", quantum_bytes),
        ("perturb", perturb_s),
        ("divisor", divisor),
        ("flows", flows),
        ("depth", depth_frames),
    ];
    let options: String = options.into_iter().map(|(name, value)| option(name, value)).collect();
    Ok(format!("{options}{}", if head_drop { " headdrop" } else { "" }))
}

fn htb(Htb { default, rate_to_quantum, direct_frames }: Htb) -> Result<String, NotSayable> {
    if rate_to_quantum == 0 {
        return Err(NotSayable::Number);
    }
    let r2q = if rate_to_quantum == 10 { String::new() } else { format!(" r2q {rate_to_quantum}") };
    Ok(format!(" default 0x{default:x}{r2q}{}", option("direct_qlen", direct_frames)))
}

fn fq_codel(fq_codel: FqCodel) -> String {
    let FqCodel { limit_frames, flows, quantum_bytes, target_us, interval_us, memory_limit_bytes } = fq_codel;
    let time = |time: Option<u32>| time.map(|us| format!("{us}us"));
    let options = [
        option("limit", limit_frames),
        option("flows", flows),
        option("quantum", quantum_bytes),
        option("target", time(target_us)),
        option("interval", time(interval_us)),
        option("memory_limit", memory_limit_bytes),
    ];
    options.concat()
}

fn netem(Netem { limit_frames, delay, jitter, loss, duplicate }: Netem) -> Result<String, NotSayable> {
    let mut text = option("limit", limit_frames);
    if !delay.is_zero() || !jitter.is_zero() {
        text.push_str(&format!(" delay {}", time(delay)?));
    }
    if !jitter.is_zero() {
        text.push_str(&format!(" {}", time(jitter)?));
    }
    let share = |name: &str, share: u32| match share {
        0 => String::new(),
        // As many digits as it takes to read the same again.
        share => format!(" {name} {}%", f64::from(share) * 100.0 / f64::from(u32::MAX)),
    };
    text.push_str(&share("loss", loss));
    text.push_str(&share("duplicate", duplicate));
    Ok(text)
}

/// `tc` counts microseconds, with 32 bits.
fn time(time: Duration) -> Result<String, NotSayable> {
    let microseconds = u32::try_from(time.as_micros()).ok().filter(|_| time.subsec_nanos().is_multiple_of(1000));
    match microseconds.ok_or(NotSayable::Number)? {
        us if us % 1000 == 0 => Ok(format!("{}ms", us / 1000)),
        us => Ok(format!("{us}us")),
    }
}

fn etf(etf: Etf) -> Result<String, NotSayable> {
    let Etf { delta_ns, clock_id, deadline_mode, offload, skip_sock_check } = etf;
    let clock = CLOCKS.iter().find(|(_, id)| *id == clock_id).map(|(name, _)| *name).ok_or(NotSayable::Number)?;
    let words = [("deadline_mode", deadline_mode), ("offload", offload), ("skip_sock_check", skip_sock_check)];
    let words: String = words.iter().filter(|(_, is_on)| *is_on).map(|(word, _)| format!(" {word}")).collect();
    Ok(format!(" clockid {clock} delta {delta_ns}{words}"))
}
