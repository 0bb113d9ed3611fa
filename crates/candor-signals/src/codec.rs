//! Compiled signals and messages.

use crate::check::switches;
use crate::database::{Message, Signal};
use crate::field::Field;
use crate::index::Index;
use crate::scale::{EncodeError, Encoded, Fit, Physical, Scale};

/// A signal, compiled once. Nothing here allocates or fails with text while frames pass.
///
/// ```
/// use candor_signals::{Codec, Fit, Physical, dbc};
///
/// let database = dbc::read(b"BO_ 291 ABS1: 8 ESP\n SG_ VehSpd : 7|16@0+ (0.01,0) [0|300] \"km/h\" ACC\n");
/// let (message, signal) = database.signal("ABS1.VehSpd").unwrap();
/// let speed = Codec::new(message, signal).unwrap();
/// let mut payload = [0x27, 0x10, 0, 0, 0, 0, 0, 0];
/// let bits = speed.get(&payload).unwrap();
/// assert_eq!(speed.scale().physical_f64(bits), 100.0);
/// let faster = speed.encode(Physical::Exact("100.5".parse().unwrap())).unwrap();
/// assert_eq!(faster.fit, Fit::Exact);
/// assert!(speed.set(&mut payload, faster.bits));
/// assert_eq!(payload[..2], 10_050u16.to_be_bytes());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Codec {
    field: Field,
    scale: Scale,
    conditions: Box<[Condition]>,
    /// By bits.
    names: Box<[(u64, Box<str>)]>,
}

/// A switch and the values that select the signal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    switch: Field,
    ranges: Box<[(u64, u64)]>,
}

impl Condition {
    #[inline]
    fn holds(&self, payload: &[u8]) -> bool {
        self.switch
            .get(payload)
            .is_some_and(|value| self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&value)))
    }
}

impl Codec {
    /// Compiles a signal of the message. `None` if it is refused ([`Signal::refusal`]).
    #[must_use]
    pub fn new(message: &Message, signal: &Signal) -> Option<Self> {
        if signal.refusal.is_some() {
            return None;
        }
        let at = message.signals.iter().position(|one| std::ptr::eq(one, signal) || one == signal)?;
        let field_of = |one: &Signal| Field::new(one.start, one.bits, one.order);
        let scale = Scale::new(signal)?;
        let conditions = std::iter::once(at).chain(switches(message, at)).take(message.signals.len());
        let conditions = conditions.filter_map(|one| message.signals[one].present.as_ref()).map(|presence| {
            let switch = field_of(message.signals.get(presence.switch)?)?;
            Some(Condition { switch, ranges: presence.ranges.clone().into() })
        });
        // A value that does not fit has no bits.
        let values: Vec<_> = signal.values.iter().map(|value| (scale.saturate(value.raw), value)).collect();
        let values: Vec<_> = values.into_iter().filter(|(encoded, _)| encoded.fit != Fit::Saturated).collect();
        let order = Index::new(values.iter().map(|(encoded, _)| encoded.bits));
        let names = order.sorted().map(|at| (values[at].0.bits, values[at].1.name.as_str().into()));
        Some(Self {
            field: field_of(signal)?,
            scale,
            conditions: conditions.collect::<Option<_>>()?,
            names: names.collect(),
        })
    }

    /// Where its bits are.
    #[must_use]
    pub const fn field(&self) -> &Field {
        &self.field
    }

    /// The relation of raw and physical values.
    #[must_use]
    pub const fn scale(&self) -> &Scale {
        &self.scale
    }

    /// True if a frame with this payload has the signal: its switches select it, and the payload is long enough.
    #[inline]
    #[must_use]
    pub fn is_present(&self, payload: &[u8]) -> bool {
        payload.len() >= self.field.end() && self.conditions.iter().all(|one| one.holds(payload))
    }

    /// Its bits in a payload. `None` if the frame does not have it.
    #[inline]
    #[must_use]
    pub fn get(&self, payload: &[u8]) -> Option<u64> {
        if self.conditions.iter().all(|one| one.holds(payload)) { self.field.get(payload) } else { None }
    }

    /// Writes its bits. False, without a change, if the frame does not have it. To change what a switch selects, write the
    /// switch first.
    #[inline]
    #[must_use]
    pub fn set(&self, payload: &mut [u8], bits: u64) -> bool {
        self.conditions.iter().all(|one| one.holds(payload)) && self.field.set(payload, bits)
    }

    /// The physical value in a payload. `None` if the frame does not have it.
    #[must_use]
    pub fn physical(&self, payload: &[u8]) -> Option<Physical> {
        Some(self.scale.physical(self.get(payload)?))
    }

    /// The bits of a physical value, rounded and saturated.
    ///
    /// # Errors
    /// As [`Scale::encode`].
    #[inline]
    pub fn encode(&self, physical: Physical) -> Result<Encoded, EncodeError> {
        self.scale.encode(physical)
    }

    /// The name of these bits.
    #[must_use]
    pub fn name(&self, bits: u64) -> Option<&str> {
        let first = self.names.partition_point(|(one, _)| *one < bits);
        self.names.get(first).filter(|(one, _)| *one == bits).map(|(_, name)| &**name)
    }

    /// The bits with this name; those of the smallest value if several have it.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<u64> {
        self.names.iter().find(|(_, one)| **one == *name).map(|(bits, _)| *bits)
    }
}

/// All signals of a message, compiled once.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageCodec {
    /// Index in [`Message::signals`] and codec.
    signals: Box<[(usize, Codec)]>,
}

impl MessageCodec {
    /// Compiles a message. Refused signals are left out.
    #[must_use]
    pub fn new(message: &Message) -> Self {
        let codec = |(at, signal)| Some((at, Codec::new(message, signal)?));
        Self { signals: message.signals.iter().enumerate().filter_map(codec).collect() }
    }

    /// The signals that can be used, with their index in [`Message::signals`].
    #[must_use]
    pub fn signals(&self) -> &[(usize, Codec)] {
        &self.signals
    }

    /// Calls `each` for every signal that a frame with this payload has, with its codec and its bits.
    #[inline]
    pub fn decode(&self, payload: &[u8], mut each: impl FnMut(usize, &Codec, u64)) {
        for (at, codec) in &self.signals {
            if let Some(bits) = codec.get(payload) {
                each(*at, codec, bits);
            }
        }
    }
}
