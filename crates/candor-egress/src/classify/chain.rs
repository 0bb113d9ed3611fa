//! Runs the filters of a discipline and their actions.

use super::walk::{Choice, Numbered, Tested, Unknown, Walk};
use super::{expression, tables};
use crate::action::Verdict;
use crate::control_group::{ControlGroup, GroupId};
use crate::filter::{Classifier, ETH_P_ALL, Filter, Flow, FlowKey};
use crate::handle::Handle;

pub(super) enum Asked {
    Dropped,
    Found(Choice),
    NoFilters,
    /// No filter takes the frame.
    Nothing,
    Taken,
}

/// `max_reclassify_loop`: further rounds that actions may request.
const MOST_FURTHER_ROUNDS: usize = 16;

impl<'t> Walk<'t, '_> {
    pub(super) fn ask(&mut self, parent: Handle) -> Result<Asked, Unknown> {
        let mut filters: Vec<Numbered<'t>> =
            self.tree.filters.iter().enumerate().filter(|(_, filter)| filter.parent == parent).collect();
        if filters.is_empty() || parent == Handle::NONE {
            return Ok(Asked::NoFilters);
        }
        candor_core::order::sort_by_key(&mut filters, |(_, filter)| filter.preference);
        for _ in 0..=MOST_FURTHER_ROUNDS {
            match self.round(&filters)? {
                None | Some((Verdict::Continue, _)) => return Ok(Asked::Nothing),
                Some((Verdict::Drop, _)) => return Ok(Asked::Dropped),
                Some((Verdict::Stolen, _)) => return Ok(Asked::Taken),
                Some((Verdict::Reclassify, _)) => {}
                Some((Verdict::Pass | Verdict::Pipe, choice)) => return Ok(Asked::Found(choice)),
            }
        }
        Ok(Asked::Dropped)
    }

    /// Those of one preference are one classifier.
    fn round(&mut self, filters: &[Numbered<'t>]) -> Result<Option<(Verdict, Choice)>, Unknown> {
        for same in filters.chunk_by(|(_, one), (_, other)| one.preference == other.preference) {
            let (_, first) = same[0];
            if first.protocol != ETH_P_ALL && first.protocol != self.packet.protocol {
                continue;
            }
            let found = match first.classifier {
                Classifier::U32(_) => tables::ask(self, filters, first.preference)?,
                _ => self.list(same)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn list(&mut self, filters: &[Numbered<'t>]) -> Result<Option<(Verdict, Choice)>, Unknown> {
        for (at, filter) in filters {
            let class = filter.class.unwrap_or(Handle::NONE);
            let choice = match &filter.classifier {
                Classifier::Basic(None) | Classifier::Matchall => Some(Choice::Class(class)),
                Classifier::Basic(Some(expression)) => {
                    let fits = expression::fits(expression, &self.packet).ok_or(Unknown::Kind)?;
                    fits.then_some(Choice::Class(class))
                }
                Classifier::ControlGroups(groups) => {
                    groups.iter().any(|group| self.is_from(group)).then_some(Choice::Class(class))
                }
                Classifier::Flow(flow) => Some(self.flow(flow, filter.parent)),
                // The mask is that of the first one.
                Classifier::Fw { .. } => self.fw(filter, filters[0].1),
                Classifier::Other { .. } => return Err(Unknown::Kind),
                // Of another kind than its neighbours; no kernel has that.
                Classifier::U32(_) => None,
            };
            self.tested.push(Tested { filter: *at, fits: choice.is_some() });
            let Some(choice) = choice else { continue };
            match self.act(&filter.actions)? {
                Verdict::Continue => {}
                verdict => return Ok(Some((verdict, choice))),
            }
        }
        Ok(None)
    }

    /// Forwarded frames have no socket, and so no group.
    fn is_from(&self, group: &ControlGroup) -> bool {
        let groups = self.packet.socket.map_or(&[][..], |socket| socket.control_groups);
        group.id.is_some_and(|GroupId { level, id }| groups.get(usize::from(level)) == Some(&id))
    }

    fn fw(&self, filter: &Filter, first: &Filter) -> Option<Choice> {
        let mask = match first.classifier {
            Classifier::Fw { mask } => mask.unwrap_or(u32::MAX),
            _ => u32::MAX,
        };
        if filter.handle == 0 {
            // Without a number the mark is the class.
            let named = Handle(self.packet.mark);
            let is_own = named.major() == 0 || named.qdisc() == filter.parent.qdisc();
            return (self.packet.mark != 0 && is_own).then_some(Choice::Class(named));
        }
        (self.packet.mark & mask == filter.handle).then(|| Choice::Class(filter.class.unwrap_or(Handle::NONE)))
    }

    fn flow(&self, flow: &Flow, parent: Handle) -> Choice {
        let base = flow.base.unwrap_or(Handle::NONE);
        let major = if base.major() == 0 { parent.major() } else { base.major() };
        let first = Handle::new(major, base.minor().max(1));
        let key = flow.keys.first().filter(|_| !flow.hashed).and_then(|key| self.key(*key));
        match key {
            Some(key) => {
                let number = flow.divisor.filter(|divisor| *divisor > 0).map_or(key, |divisor| key % divisor);
                // The kernel adds to the whole handle and keeps the lower half.
                let minor = first.0.wrapping_add(number) & 0xFFFF;
                Choice::Class(Handle(first.qdisc().0 | minor))
            }
            None => Choice::Flow { first, count: flow.divisor.filter(|divisor| *divisor > 0) },
        }
    }

    /// The value of a key, unless it is a kernel address.
    fn key(&self, key: FlowKey) -> Option<u32> {
        let packet = &self.packet;
        match key {
            FlowKey::Destination => Some(u32::from(packet.protocol.to_be())),
            FlowKey::IncomingInterface => Some(packet.incoming_interface),
            FlowKey::Mark => Some(packet.mark),
            FlowKey::Priority => Some(packet.priority),
            FlowKey::SocketGroup => Some(packet.socket.map_or(0, |socket| socket.group)),
            FlowKey::SocketUser => Some(packet.socket.map_or(0, |socket| socket.user)),
            FlowKey::Source => packet.socket.is_none().then_some(0),
        }
    }
}
