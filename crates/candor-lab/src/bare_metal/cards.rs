//! Cards that Linux gives away and takes back.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use candor_bare::Card;
use candor_io::can;
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link;

use super::BareMetalError;
use crate::job::KVASER_RATE;

const DRIVER: &str = "/sys/bus/pci/drivers/kvaser_pci";
const OPERATIONAL_WITHIN: Duration = Duration::from_secs(4);

/// Two cards with the interfaces they have in Linux.
#[derive(Debug)]
pub(super) struct Cards {
    cards: [One; 2],
}

#[derive(Debug)]
struct One {
    interface: String,
    /// As in sysfs: `0000:00:07.0`.
    name: String,
    place: Card,
}

impl Cards {
    pub(super) fn find(interfaces: [&str; 2]) -> Result<Self, BareMetalError> {
        let [first, second] = interfaces.map(One::find);
        Ok(Self { cards: [first?, second?] })
    }

    pub(super) fn places(&self) -> [Card; 2] {
        self.cards.each_ref().map(|card| card.place)
    }

    pub(super) fn take(&self) -> Result<(), BareMetalError> {
        self.cards.iter().try_for_each(|card| card.tell("unbind", "away"))
    }

    /// Fails if Linux still waits for an interrupt on a line of the cards: it would no longer get any.
    pub(super) fn check_lines(&self) -> Result<(), BareMetalError> {
        self.cards.iter().try_for_each(|card| {
            let line = card.place.line;
            let others = fs::read_to_string(format!("/sys/kernel/irq/{line}/actions")).unwrap_or_default();
            match others.trim() {
                "" | "(null)" => Ok(()),
                others => Err(BareMetalError::Shared { line, others: others.to_owned() }),
            }
        })
    }

    /// In the order of the interfaces, so that they get their names again.
    pub(super) fn give_back(&mut self) -> Result<(), BareMetalError> {
        self.cards.sort_unstable_by(|one, other| one.interface.cmp(&other.interface));
        self.cards.iter().try_for_each(|card| card.tell("bind", "back"))?;
        let mut client = Client::open().map_err(self.cards[0].link())?;
        self.cards.iter().try_for_each(|card| card.set_up(&mut client))
    }
}

impl One {
    fn find(interface: &str) -> Result<Self, BareMetalError> {
        let no_card = |source| BareMetalError::Card { interface: interface.to_owned(), source };
        let device = Path::new("/sys/class/net").join(interface).join("device");
        let driver = fs::read_link(device.join("driver")).map_err(no_card)?;
        let name = fs::read_link(&device).map_err(no_card)?;
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let line = fs::read_to_string(device.join("irq")).map_err(no_card)?;
        match place(&name, line.trim()) {
            Some(place) if Path::new(DRIVER).file_name() == driver.file_name() => {
                Ok(Self { interface: interface.to_owned(), name, place })
            }
            _ => Err(no_card(io::Error::other(format!("its driver is {}", driver.display())))),
        }
    }

    fn tell(&self, file: &str, to: &'static str) -> Result<(), BareMetalError> {
        let failed = |source| BareMetalError::Driver { interface: self.interface.clone(), to, source };
        fs::write(Path::new(DRIVER).join(file), &self.name).map_err(failed)
    }

    fn set_up(&self, client: &mut Client) -> Result<(), BareMetalError> {
        let not_back = || BareMetalError::NotBack(self.interface.clone());
        let index = link::by_name(client, &self.interface).map_err(self.link())?.ok_or_else(not_back)?.index;
        link::set_can_bitrate(client, index, KVASER_RATE)
            .and_then(|()| link::set_up(client, index))
            .map_err(self.link())?;
        can::wait_until_operational(&self.interface, OPERATIONAL_WITHIN).then_some(()).ok_or_else(not_back)
    }

    fn link(&self) -> impl Fn(NetlinkError) -> BareMetalError + use<> {
        let interface = self.interface.clone();
        move |source| BareMetalError::Link { interface: interface.clone(), source }
    }
}

/// Reads `0000:00:07.0` and `11`. Only the first PCI domain has configuration ports.
fn place(name: &str, line: &str) -> Option<Card> {
    let (bus, rest) = name.strip_prefix("0000:")?.split_once(':')?;
    let (device, function) = rest.split_once('.')?;
    let number = |text: &str| u8::from_str_radix(text, 16).ok();
    Some(Card { bus: number(bus)?, devfn: number(device)? << 3 | number(function)?, line: line.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_cards() {
        assert_eq!(place("0000:00:07.0", "11"), Some(Card { bus: 0, devfn: 0x38, line: 11 }));
        assert_eq!(place("0000:02:1f.3", "5"), Some(Card { bus: 2, devfn: 0xFB, line: 5 }));
        for other in ["0001:00:07.0", "1-1", "vcan0", ""] {
            assert_eq!(place(other, "5"), None);
        }
        assert_eq!(place("0000:00:07.0", "none"), None);
    }
}
