//! What a composition must fulfil.

use super::composition::{Composition, Filter, Input, TimeoutAction, Value};

/// Why a composition cannot be used. `input` is an index in [`Composition::inputs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompositionError {
    /// A cycle of 0, or none although the mode is periodic or mixed.
    #[error("A frame of mode periodic or mixed needs a cycle above 0")]
    Cycle,
    /// Repetitions without a time between them.
    #[error("Repetitions need a period above 0")]
    Period,
    /// A place of the input or of the fast cycle's signal ends after the payload.
    #[error("Input {input} is written after the end of the payload")]
    TooLong {
        /// The input.
        input: usize,
    },
    /// The signal of the fast cycle ends after the payload.
    #[error("The signal of the fast cycle ends after the payload")]
    FastTooLong,
    /// A start payload that is longer than those that its input takes.
    #[error("The payload before the first reception is longer than the largest one that input {input} takes")]
    Initial {
        /// The input.
        input: usize,
    },
    /// A whole payload and other inputs.
    #[error("Input {input} takes a whole payload, so it must be the only input")]
    NotAlone {
        /// The input.
        input: usize,
    },
    /// A group with inputs of several sources, or with other inputs between them.
    #[error("Inputs of group {group} must follow each other and have one source")]
    GroupApart {
        /// The group.
        group: u16,
    },
    /// A filter in a group.
    #[error("Input {input} is in a group, so it must not have a filter: it would take a part of the group")]
    GroupFilter {
        /// The input.
        input: usize,
    },
    /// A filter that the input cannot have.
    #[error("The filter of input {input} does not fit its value, or its period is 0 or not above its offset")]
    Filter {
        /// The input.
        input: usize,
    },
    /// A timeout action that the input cannot have.
    #[error("The substitute of input {input} does not fit its value")]
    Substitute {
        /// The input.
        input: usize,
    },
    /// An update bit that has not 1 bit.
    #[error("An update bit of input {input} must have 1 bit")]
    UpdateBit {
        /// The input.
        input: usize,
    },
    /// An update bit in a frame with repetitions, which would repeat it as 0 (AUTOSAR forbids it).
    #[error("Input {input} has an update bit, but the frame has repetitions, which would clear it")]
    UpdateBitRepeated {
        /// The input.
        input: usize,
    },
    /// A table that is not sorted.
    #[error("The table of input {input} is not sorted by its source bits")]
    Table {
        /// The input.
        input: usize,
    },
}

pub(super) fn check(composition: &Composition) -> Result<(), CompositionError> {
    let (send, len) = (&composition.send, composition.initial.len());
    let cycles = send.cycle.into_iter().chain(send.fast.as_ref().map(|fast| fast.cycle));
    if send.sends_cyclically() && (cycles.clone().count() == 0 || cycles.clone().any(|one| one.is_zero())) {
        return Err(CompositionError::Cycle);
    }
    if send.sends_events() && send.repetitions > 0 && send.repetition_period.is_zero() {
        return Err(CompositionError::Period);
    }
    let is_whole = composition.inputs.iter().any(|one| one.signal().is_none());
    if !is_whole && send.fast.as_ref().is_some_and(|fast| fast.field.end() > len) {
        return Err(CompositionError::FastTooLong);
    }
    for (at, input) in composition.inputs.iter().enumerate() {
        if input.signal().is_none() && composition.inputs.len() > 1 {
            return Err(CompositionError::NotAlone { input: at });
        }
        self::input(composition, at, input)?;
        if let Some(group) = input.group {
            let is_apart = composition.inputs[..at]
                .iter()
                .rposition(|one| one.group == input.group)
                .is_some_and(|earlier| earlier + 1 != at || composition.inputs[earlier].source != input.source);
            if is_apart {
                return Err(CompositionError::GroupApart { group });
            }
            if input.filter != Filter::Always {
                return Err(CompositionError::GroupFilter { input: at });
            }
        }
    }
    Ok(())
}

fn input(composition: &Composition, at: usize, input: &Input) -> Result<(), CompositionError> {
    let action = input.timeout.as_ref().map(|timeout| &timeout.action);
    let signal = match &input.value {
        Value::Signal(signal) => signal,
        Value::Payload { max_len, .. } => {
            let fits = match action {
                Some(TimeoutAction::Substitute(_)) => false,
                Some(TimeoutAction::SubstitutePayload(payload)) => payload.len() <= *max_len,
                _ => true,
            };
            if !fits {
                return Err(CompositionError::Substitute { input: at });
            }
            if composition.initial.len() > *max_len {
                return Err(CompositionError::Initial { input: at });
            }
            return match input.filter {
                Filter::Always | Filter::Never => Ok(()),
                Filter::OneEvery { period, offset } if offset < period => Ok(()),
                _ => Err(CompositionError::Filter { input: at }),
            };
        }
    };
    if matches!(action, Some(TimeoutAction::SubstitutePayload(_))) {
        return Err(CompositionError::Substitute { input: at });
    }
    let bits = signal.updated.iter().map(|one| one.field().bits()).chain(signal.update.map(|one| one.bits()));
    if bits.into_iter().any(|bits| bits != 1) {
        return Err(CompositionError::UpdateBit { input: at });
    }
    if signal.update.is_some() && composition.send.sends_events() && composition.send.repetitions > 0 {
        return Err(CompositionError::UpdateBitRepeated { input: at });
    }
    if [Some(signal.to), signal.update].into_iter().flatten().any(|one| one.end() > composition.initial.len()) {
        return Err(CompositionError::TooLong { input: at });
    }
    if let super::Conversion::Table { rows, .. } = &signal.conversion
        && !rows.is_sorted_by(|left, right| left.0 < right.0)
    {
        return Err(CompositionError::Table { input: at });
    }
    let fits = match input.filter {
        Filter::Within { .. } | Filter::Outside { .. } | Filter::Deadband(_) => !signal.from.scale().kind().is_float(),
        Filter::OneEvery { period, offset } => offset < period,
        _ => true,
    };
    if fits { Ok(()) } else { Err(CompositionError::Filter { input: at }) }
}
