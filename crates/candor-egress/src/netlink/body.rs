//! What all filters have in common: their class, their actions and their counters.

use crate::action::Action;
use crate::filter::{Classifier, Filter};
use crate::handle::Handle;

use super::action;
use super::error::EncodeError;
use super::names::InterfaceNames;
use super::read;
use super::stats::FilterStats;
use super::write::AttributeList;
use candor_netlink::codec::{Attribute, DecodeError};

/// `TCA_CLS_FLAGS_SKIP_SW`: only the hardware looks.
pub(super) const SKIP_SW: u32 = 2;

/// What a filter says in its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) classifier: Classifier,
    pub(super) class: Option<Handle>,
    pub(super) actions: Vec<Action>,
    pub(super) stats: FilterStats,
}

impl Body {
    pub(super) const fn new(classifier: Classifier) -> Self {
        Self { classifier, class: None, actions: Vec::new(), stats: FilterStats::new() }
    }

    /// With class and actions.
    pub(super) fn with(
        mut self,
        class: Option<Attribute<'_>>,
        actions: Option<Attribute<'_>>,
        names: &InterfaceNames,
    ) -> Result<Self, DecodeError> {
        self.class = read::u32_of(class)?.map(Handle);
        if let Some(actions) = actions {
            (self.actions, self.stats.actions) = action::decode(actions.value, names)?;
        }
        Ok(self)
    }
}

/// Class and actions, under the numbers that this classifier has for them.
pub(super) fn common(
    filter: &Filter,
    names: &InterfaceNames,
    class: Option<u16>,
    actions: u16,
) -> Result<AttributeList, EncodeError> {
    let mut list = AttributeList::default();
    match (class, filter.class) {
        (Some(number), Some(class)) => list.put_u32(number, class.0)?,
        (None, Some(_)) => return Err(EncodeError::ClassOfFlow),
        (_, None) => {}
    }
    if !filter.actions.is_empty() {
        list.nest(actions, &action::encode(&filter.actions, names)?)?;
    }
    Ok(list)
}
