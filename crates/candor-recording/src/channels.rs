//! Numbers of buses.

use std::collections::BTreeSet;
use std::io;

use crate::{BusIndex, Buses};

/// The highest number of a bus.
const LAST: u16 = 255;

/// Numbers of buses, for formats that have no names.
///
/// `can0` has the first number and `can1` the second; other names get the lowest number that is free when they first appear.
#[derive(Clone, Debug)]
pub(crate) struct Channels {
    /// The number of `can0`: 1 in most formats.
    first: u16,
    /// By bus.
    numbers: Vec<Option<u16>>,
    used: BTreeSet<u16>,
}

impl Channels {
    pub(crate) const fn new(first: u16) -> Self {
        Self { first, numbers: Vec::new(), used: BTreeSet::new() }
    }

    /// The number of a bus.
    ///
    /// # Errors
    /// All numbers are used.
    pub(crate) fn number(&mut self, bus: BusIndex, buses: &Buses) -> io::Result<u16> {
        let at = usize::from(bus.0);
        if let Some(&Some(number)) = self.numbers.get(at) {
            return Ok(number);
        }
        let wanted = self.of_name(buses.name(bus)).filter(|number| !self.used.contains(number));
        let free = || (self.first..=LAST).find(|number| !self.used.contains(number));
        let Some(number) = wanted.or_else(free) else {
            let count = self.used.len();
            return Err(io::Error::other(format!(
                "the format has numbers for {count} buses, and the recording has more"
            )));
        };
        self.used.insert(number);
        if self.numbers.len() <= at {
            self.numbers.resize(at + 1, None);
        }
        self.numbers[at] = Some(number);
        Ok(number)
    }

    /// Buses whose number does not say their name.
    pub(crate) fn renamed<'a>(&self, buses: &'a Buses) -> Vec<(&'a str, u16)> {
        let numbered = buses.names().zip(&self.numbers).filter_map(|(name, number)| Some((name, (*number)?)));
        numbered.filter(|(name, number)| self.of_name(name) != Some(*number)).collect()
    }

    /// The number of `can0` is the first.
    fn of_name(&self, name: &str) -> Option<u16> {
        let digits = name.strip_prefix("can")?;
        let number: u16 = digits.parse().ok()?;
        (number.to_string() == digits).then(|| number.checked_add(self.first)).flatten().filter(|it| *it <= LAST)
    }
}

/// The bus with this number.
pub(crate) fn numbered(buses: &mut Buses, number: u16, first: u16) -> Option<BusIndex> {
    let name = format!("can{}", number.saturating_sub(first));
    buses.index(name.as_bytes())
}
