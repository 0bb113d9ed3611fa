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
            all.push(Kept { message: MessageId(at), how, schedule: Schedule { frames: queued, seed } });
        }
        Ok(Self(all))
    }
}
