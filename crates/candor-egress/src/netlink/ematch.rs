//! Expressions of extended matches as the flat list that the kernel has.
//!
//! Each entry is joined to the next with *and* or *or*, and the kernel evaluates them until the outcome is certain. A
//! *container* is an entry that stands for the entries from a later one on. So a group is a run of entries with the same
//! relation, and a group within another becomes a container whose entries follow later.
//!
//! # Source
//! Linux 6.1: [`tcf_em_tree_validate()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/ematch.c#L305),
//! [`__tcf_em_tree_match()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/ematch.c#L500).

mod leaf;

use std::collections::VecDeque;

use crate::ematch::Ematch;

use leaf::TCF_EM_CONTAINER;

use super::codec::{self, AttributeList, Fields, StructWriter, Unread, ensure_supported};
use super::error::{EncodeError, MAX_EMATCH_DEPTH};
use candor_netlink::codec::{Attribute, Attributes};

const TCA_EMATCH_TREE_HDR: u16 = 1;
const TCA_EMATCH_TREE_LIST: u16 = 2;
const TCF_EM_REL_MASK: u16 = 3;
const TCF_EM_REL_END: u16 = 0;
const TCF_EM_REL_AND: u16 = 1;
const TCF_EM_REL_OR: u16 = 2;
const TCF_EM_INVERT: u16 = 4;
const TCF_EM_SIMPLE: u16 = 8;

#[derive(Debug)]
struct Entry {
    flags: u16,
    kind: u16,
    data: Vec<u8>,
}

/// The value of `TCA_BASIC_EMATCHES`.
pub(super) fn encode(expression: &Ematch) -> Result<AttributeList, EncodeError> {
    let entries = flatten(expression)?;
    let too_long = EncodeError::TooLong { len: entries.len() };
    let mut inner = AttributeList::default();
    for (place, entry) in (1_u16..).zip(&entries) {
        let record = StructWriter::default().u16(0).u16(entry.kind).u16(entry.flags).u16(0).bytes(&entry.data);
        inner.put(place, &record.done())?;
    }
    let count = u16::try_from(entries.len()).map_err(|_too_many| too_long)?;
    let mut list = AttributeList::default();
    list.put(TCA_EMATCH_TREE_HDR, &StructWriter::default().u16(count).u16(0).done())?;
    list.nest(TCA_EMATCH_TREE_LIST, &inner)?;
    Ok(list)
}

/// Entries in the order of the list: a group, then the groups nested in it.
fn flatten(expression: &Ematch) -> Result<Vec<Entry>, EncodeError> {
    let mut entries: Vec<Entry> = Vec::new();
    // Which container leads to a group, the group, and how deep it is.
    let mut groups = VecDeque::from([(None, expression, 0)]);
    while let Some((container, group, depth)) = groups.pop_front() {
        if depth > MAX_EMATCH_DEPTH {
            return Err(EncodeError::MatchDepth);
        }
        if let Some(container) = container {
            let target = u32::try_from(entries.len()).map_err(|_too_many| EncodeError::MatchDepth)?;
            let entry: &mut Entry = &mut entries[container];
            entry.data = target.to_ne_bytes().to_vec();
        }
        let (members, relation) = members(group)?;
        for (place, member) in members.iter().enumerate() {
            let relation = if place + 1 == members.len() { TCF_EM_REL_END } else { relation };
            let (member, invert) = match member {
                Ematch::Not(inner) => (&**inner, TCF_EM_INVERT),
                member => (member, 0),
            };
            let flags = relation | invert;
            if let Some((kind, data)) = leaf::encode(member)? {
                entries.push(Entry { flags, kind, data });
            } else {
                groups.push_back((Some(entries.len()), member, depth + 1));
                entries.push(Entry { flags, kind: TCF_EM_CONTAINER, data: Vec::new() });
            }
        }
    }
    Ok(entries)
}

/// Members and relation of a group. Anything else is a group of one.
fn members(group: &Ematch) -> Result<(&[Ematch], u16), EncodeError> {
    let (members, relation) = match group {
        Ematch::And(members) => (members, TCF_EM_REL_AND),
        Ematch::Or(members) => (members, TCF_EM_REL_OR),
        _ => return Ok((std::slice::from_ref(group), TCF_EM_REL_END)),
    };
    if members.len() < 2 {
        return Err(EncodeError::Group { count: members.len() });
    }
    Ok((members, relation))
}

pub(super) fn decode(tree: &[u8]) -> Result<Option<Ematch>, Unread> {
    let [_, header, list] = codec::by_number(tree)?;
    let count = Fields::of(codec::needed(header, TCA_EMATCH_TREE_HDR)?).u16()?;
    let list = list.map(|list| list.value).unwrap_or_default();
    let entries = Attributes::new(list).map(|entry| entry_of(entry?)).collect::<Result<Vec<_>, Unread>>()?;
    ensure_supported(entries.len() == usize::from(count))?;
    if entries.is_empty() {
        return Ok(None);
    }
    let mut reader = Reader { used: vec![false; entries.len()], entries };
    reader.sequence(0, 0).map(Some)
}

fn entry_of(attribute: Attribute<'_>) -> Result<Entry, Unread> {
    let mut fields = Fields::of(attribute);
    let (_id, kind, flags, _pad) = (fields.u16()?, fields.u16()?, fields.u16()?, fields.u16()?);
    ensure_supported(flags & TCF_EM_REL_MASK != TCF_EM_REL_MASK && flags & TCF_EM_SIMPLE == 0)?;
    Ok(Entry { flags, kind, data: fields.rest().to_vec() })
}

/// Reads a list and uses every entry once, so that neither loops nor shared entries cost more than its length.
#[derive(Debug)]
struct Reader {
    entries: Vec<Entry>,
    used: Vec<bool>,
}

impl Reader {
    fn sequence(&mut self, start: usize, depth: usize) -> Result<Ematch, Unread> {
        ensure_supported(depth <= MAX_EMATCH_DEPTH)?;
        let mut terms = Vec::new();
        for at in start.. {
            ensure_supported(self.used.get(at) == Some(&false))?;
            self.used[at] = true;
            let relation = self.entries[at].flags & TCF_EM_REL_MASK;
            terms.push((self.term(at, depth)?, relation == TCF_EM_REL_AND));
            if relation == TCF_EM_REL_END {
                break;
            }
        }
        Ok(Ematch::joined(terms))
    }

    fn term(&mut self, at: usize, depth: usize) -> Result<Ematch, Unread> {
        let Entry { flags, kind, data } = &self.entries[at];
        let invert = flags & TCF_EM_INVERT != 0;
        let term = if *kind == TCF_EM_CONTAINER {
            let target = data.first_chunk().ok_or(Unread::Unsupported)?;
            let target = u32::from_ne_bytes(*target) as usize;
            ensure_supported(target > at)?;
            self.sequence(target, depth + 1)?
        } else {
            leaf::decode(*kind, data)?
        };
        Ok(if invert { Ematch::Not(Box::new(term)) } else { term })
    }
}
