//! Where the frames came from that links have put on their buses, for other links of this gateway.
//!
//! A CAN frame has no room for its origin. When a route forwards a frame from one link to another, the second link finds its
//! origin here by the frame itself, so that a gateway at the end of a ring of links recognises its own frames. If two
//! equal frames are under way it does not matter which is which. A route that changes the frame hides its origin.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use candor_core::frame::{CANFD_MTU, Frame};
use candor_link::Origin;

/// A frame that was not forwarded by then is forgotten.
const MOST_AGE: Duration = Duration::from_millis(100);
/// Frames that are remembered for each link.
const MOST_FRAMES: usize = 4096;

/// Frames by the link that has received them.
#[derive(Debug, Default)]
pub(crate) struct Onward(Mutex<BTreeMap<String, VecDeque<Remembered>>>);

#[derive(Debug)]
struct Remembered {
    frame: Packed,
    origin: Origin,
    hops: u8,
    at: Instant,
}

/// As the kernel has it: nothing else is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed([u8; CANFD_MTU]);

impl Packed {
    fn of(frame: &Frame) -> Self {
        let mut bytes = [0; CANFD_MTU];
        frame.to_kernel(&mut bytes);
        Self(bytes)
    }
}

impl Onward {
    /// A frame that this link is about to put on its bus.
    pub(crate) fn remember(&self, link: &str, frame: &Frame, origin: Origin, hops: u8) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let frames = match all.get_mut(link) {
            Some(frames) => frames,
            None => all.entry(link.to_owned()).or_default(),
        };
        while frames.front().is_some_and(|first| frames.len() >= MOST_FRAMES || now - first.at > MOST_AGE) {
            frames.pop_front();
        }
        frames.push_back(Remembered { frame: Packed::of(frame), origin, hops, at: now });
    }

    /// The origin of a frame that a route may have forwarded from one of these links, and how many links it has crossed.
    pub(crate) fn recall(&self, links: &[String], frame: &Frame) -> Option<(Origin, u8)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (packed, now) = (Packed::of(frame), Instant::now());
        links.iter().find_map(|link| {
            let frames = all.get_mut(link)?;
            let at = frames.iter().position(|one| one.frame == packed && now - one.at <= MOST_AGE)?;
            frames.remove(at).map(|one| (one.origin, one.hops))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_recalled_once_for_each_time_it_came() {
        let onward = Onward::default();
        let [one, other] = ["123#11", "123##011"].map(|text| text.parse::<Frame>().unwrap());
        let [a, b] = [7, 8].map(|number| Origin::new(number).unwrap());
        onward.remember("a", &one, a, 1);
        onward.remember("a", &one, b, 2);
        let links = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(onward.recall(&links(&["b"]), &one), None);
        assert_eq!(onward.recall(&links(&["b", "a"]), &other), None);
        assert_eq!(onward.recall(&links(&["b", "a"]), &one), Some((a, 1)));
        assert_eq!(onward.recall(&links(&["a"]), &one), Some((b, 2)));
        assert_eq!(onward.recall(&links(&["a"]), &one), None);
    }
}
