//! Names of interfaces in actions.

use candor_io::can::InterfaceIndex;

use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link;

/// What a name begins with that stands for a number, of an interface that has no other name here.
const NUMBERED: &str = "if";

/// Which interface has which name. Messages have numbers; values have names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceNames {
    names: Vec<(u32, String)>,
}

impl InterfaceNames {
    /// Those of the network namespace, now.
    ///
    /// # Errors
    /// Whatever the kernel refuses with.
    pub fn read(client: &mut Client) -> Result<Self, NetlinkError> {
        Ok(link::list(client)?.into_iter().map(|link| (link.index, link.name)).collect())
    }

    /// The interface of this name; `if7` is number 7 where none is called so.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<InterfaceIndex> {
        let number = self.names.iter().find(|(_, own)| own == name).map(|(number, _)| *number);
        InterfaceIndex::new(number.or_else(|| name.strip_prefix(NUMBERED)?.parse().ok())?)
    }

    /// The name of this interface; `if7` where it has none.
    #[must_use]
    pub fn name(&self, number: u32) -> String {
        let name = self.names.iter().find(|(own, _)| *own == number).map(|(_, name)| name.clone());
        name.unwrap_or_else(|| format!("{NUMBERED}{number}"))
    }
}

impl FromIterator<(InterfaceIndex, String)> for InterfaceNames {
    fn from_iter<T: IntoIterator<Item = (InterfaceIndex, String)>>(names: T) -> Self {
        Self { names: names.into_iter().map(|(index, name)| (index.number(), name)).collect() }
    }
}
