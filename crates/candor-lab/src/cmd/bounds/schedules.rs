//! Files with schedules, which can be played again.

use std::fs;
use std::path::Path;

use candor_bounds::simulation::{How, Queued, Schedule};
use candor_bounds::{MessageId, Ns, Origin};
use candor_config::bounds::Model;
use serde::{Deserialize, Serialize};

/// Schedules, each the worst one of a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedules(pub(super) Vec<Kept>);

/// The worst schedule of a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept {
    pub(super) message: MessageId,
    pub(super) how: Way,
    pub(super) schedule: Schedule,
}

/// How a schedule was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum Way {
    Critical,
    Random,
    Directed,
}

impl From<How> for Way {
    fn from(how: How) -> Self {
        match how {
            How::Critical => Self::Critical,
            How::Random => Self::Random,
            How::Directed => Self::Directed,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    /// Names of the messages, by which frames are numbered.
    messages: Vec<String>,
    schedules: Vec<OfMessage>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct OfMessage {
    message: String,
    how: Way,
    /// Of the latencies of gateways.
    seed: u64,
    frames: Vec<OneFrame>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct OneFrame {
    message: usize,
    released_ns: u64,
    queued_ns: u64,
}

impl Schedules {
    pub(super) fn to_json(&self, model: &Model<'_>) -> Result<String, serde_json::Error> {
        let name = |at| model.name(MessageId(at));
        let frame =
            |one: &Queued| OneFrame { message: one.message.0, released_ns: one.released.0, queued_ns: one.at.0 };
        let of_message = |kept: &Kept| OfMessage {
            message: name(kept.message.0),
            how: kept.how,
            seed: kept.schedule.seed,
            frames: kept.schedule.frames.iter().map(frame).collect(),
        };
        let messages = (0..model.network.messages.len()).map(name).collect();
        serde_json::to_string(&File { messages, schedules: self.0.iter().map(of_message).collect() })
    }

    pub(super) fn write(&self, path: &Path, model: &Model<'_>) -> Result<(), Box<dyn std::error::Error>> {
        Ok(super::write(path, &(self.to_json(model)? + "\n"))?)
    }

    /// # Errors
    /// If the file cannot be read, or is of other messages.
    pub(super) fn read(path: &Path, model: &Model<'_>) -> Result<Self, String> {
        let text = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let wrong = |why: String| format!("{}: {why}", path.display());
        let file: File = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        let names: Vec<_> = (0..model.network.messages.len()).map(|at| model.name(MessageId(at))).collect();
        if file.messages != names {
            return Err(wrong("its schedules are of other messages than those of the gateway file".to_owned()));
        }
        let mut all = Vec::with_capacity(file.schedules.len());
        for OfMessage { message, how, seed, frames } in file.schedules {
            let at = names.iter().position(|name| *name == message);
            let at = at.ok_or_else(|| wrong(format!("the gateway file has no message {message}")))?;
            let mut queued = Vec::with_capacity(frames.len());
            for OneFrame { message, released_ns, queued_ns } in frames {
                let is_queued = |one: &candor_bounds::Message| matches!(one.origin, Origin::Queued { .. });
                if !model.network.messages.get(message).is_some_and(is_queued) || queued_ns < released_ns {
                    return Err(wrong(format!("a frame of message {message} at {queued_ns} ns cannot be sent")));
                }
                queued.push(Queued { message: MessageId(message), released: Ns(released_ns), at: Ns(queued_ns) });
            }
            if let Some(why) = not_of_the_file(&queued, model) {
                return Err(wrong(format!("schedule of {message}: {why}")));
            }
            all.push(Kept { message: MessageId(at), how, schedule: Schedule { frames: queued, seed } });
        }
        Ok(Self(all))
    }
}

/// The first frame, by message, that comes earlier or later than the gateway file says: bounds do not hold for it.
fn not_of_the_file(frames: &[Queued], model: &Model<'_>) -> Option<String> {
    let mut frames: Vec<_> = frames.iter().collect();
    frames.sort_by_key(|one| (one.message, one.released));
    let jitter_and_period = |message: MessageId| match model.network.messages[message.0].origin {
        Origin::Queued { period, jitter } => (jitter, period),
        Origin::Forwarded { .. } => (Ns(0), Ns(0)),
    };
    let late = frames.iter().find_map(|one| {
        let (jitter, _) = jitter_and_period(one.message);
        let late = one.at.since(one.released);
        let name = model.name(one.message);
        (late > jitter).then(|| {
            format!("{name}: the frame released at {} is queued {late} later, and its jitter is {jitter}", one.released)
        })
    });
    let early = || {
        frames.windows(2).filter(|pair| pair[0].message == pair[1].message).find_map(|pair| {
            let (_, period) = jitter_and_period(pair[0].message);
            let (before, released) = (pair[0].released, pair[1].released);
            let (name, gap) = (model.name(pair[0].message), released.since(before));
            (gap < period).then(|| {
                format!("{name}: the frame released at {released} is {gap} after the one before it, and its period is {period}")
            })
        })
    };
    late.or_else(early)
}

#[cfg(test)]
mod tests {
    use candor_config::bounds::Question;
    use candor_config::config;

    use super::*;

    const FILE: &str = "[bus.a]\ninterface = \"can0\"\nbitrate = \"500kbit/s\"\n\
        [[traffic]]\nbus = \"a\"\nid = \"123\"\nlength = 8\nperiod = \"10ms\"\njitter = \"1ms\"\n";

    #[test]
    fn schedules_keep_the_period_and_the_jitter_of_the_file() {
        let loaded = config::load(FILE.as_bytes()).unwrap();
        let model = Model::of(&loaded.plan, &Question::default()).unwrap();
        let frame = |released: u64, late: u64| Queued {
            message: MessageId(0),
            released: Ns::from_us(released),
            at: Ns::from_us(released + late),
        };
        let refused = |frames: &[Queued]| not_of_the_file(frames, &model);
        assert_eq!(refused(&[frame(10_000, 0), frame(0, 1000)]), None);
        assert_eq!(
            refused(&[frame(0, 0), frame(9_999, 0)]).unwrap(),
            "123 on bus a: the frame released at 9.999 ms is 9.999 ms after the one before it, and its period is 10.000 ms"
        );
        assert_eq!(
            refused(&[frame(5_000, 1001)]).unwrap(),
            "123 on bus a: the frame released at 5.000 ms is queued 1.001 ms later, and its jitter is 1.000 ms"
        );
    }
}
