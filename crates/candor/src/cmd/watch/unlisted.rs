//! Frames that no route takes, by identifier.

use std::collections::BTreeMap;
use std::time::Instant;

use candor_core::frame::{CANFD_MTU, Frame, RawId};
use candor_core::job::RealtimeNs;
use candor_engine::{Recurring, Told};

/// Identifiers with a count of their own. Those beyond share one, because whoever sends them may invent any number.
const MOST_IDS: usize = 1024;

/// What was received on a bus.
#[derive(Debug, Default)]
pub(super) struct Unlisted {
    /// By identifier with its flags.
    ids: BTreeMap<u32, Counted>,
    others: Counted,
}

#[derive(Debug, Default)]
struct Counted {
    frames: u64,
    last: Option<(RealtimeNs, Frame)>,
    alarm: Recurring,
}

/// Something to tell of an identifier.
#[derive(Debug)]
pub(super) struct News {
    /// `None`: of all those without a count of their own.
    pub(super) id: Option<RawId>,
    pub(super) told: Told,
    pub(super) last: Option<(RealtimeNs, Frame)>,
}

impl Unlisted {
    pub(super) fn take(&mut self, id: RawId, at: RealtimeNs, bytes: &[u8]) {
        let is_full = self.ids.len() >= MOST_IDS && !self.ids.contains_key(&id.0);
        let counted = if is_full { &mut self.others } else { self.ids.entry(id.0).or_default() };
        counted.frames += 1;
        // CAN XL has no `Frame`.
        counted.last = Frame::from_kernel(&bytes[..bytes.len().min(CANFD_MTU)]).ok().map(|frame| (at, frame));
    }

    pub(super) fn frames(&self) -> u64 {
        self.ids.values().chain([&self.others]).map(|counted| counted.frames).sum()
    }

    /// What is to be told of each identifier.
    pub(super) fn look(&mut self, now: Instant) -> Vec<News> {
        let ids = self.ids.iter_mut().map(|(id, counted)| (Some(RawId(*id)), counted));
        let all = ids.chain([(None, &mut self.others)]);
        all.flat_map(|(id, Counted { frames, last, alarm })| {
            let last = *last;
            alarm.look(*frames, now).map(move |told| News { id, told, last })
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn take(unlisted: &mut Unlisted, id: u32) {
        let frame: Frame = format!("{id:08X}#01").parse().unwrap();
        let mut bytes = [0; CANFD_MTU];
        let len = frame.to_kernel(&mut bytes);
        unlisted.take(frame.id, RealtimeNs(1), &bytes[..len]);
    }

    #[test]
    fn an_identifier_is_told_once_and_again_while_it_comes() {
        let (mut unlisted, start) = (Unlisted::default(), Instant::now());
        let mut told = |frames: u32, seconds| {
            (0..frames).for_each(|_| take(&mut unlisted, 0x123));
            let news = unlisted.look(start + Duration::from_secs(seconds));
            news.into_iter().map(|news| news.told).collect::<Vec<_>>()
        };
        assert_eq!(told(2, 0), [Told::Begins(2)]);
        assert_eq!(told(3, 1), []);
        assert_eq!(told(1, 10), [Told::GoesOn(4)]);
        assert_eq!(told(0, 21), [Told::Over]);
        assert_eq!(told(0, 40), []);
    }

    #[test]
    fn invented_identifiers_share_a_count() {
        let mut unlisted = Unlisted::default();
        (0..2000).for_each(|id| take(&mut unlisted, id));
        take(&mut unlisted, 0);
        let news = unlisted.look(Instant::now());
        assert_eq!((news.len(), unlisted.frames()), (MOST_IDS + 1, 2001));
        assert_eq!((news[0].told, news[MOST_IDS].told), (Told::Begins(2), Told::Begins(2000 - MOST_IDS as u64)));
        assert!(news[MOST_IDS].id.is_none());
    }
}
