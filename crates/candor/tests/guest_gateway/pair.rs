//! Two interfaces with a wire between them.

use std::time::{Duration, Instant};

use candor_io::can::{self, InterfaceIndex};
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::frames::{classic, listener_on, send};

/// A vxcan pair that goes away with this value, and the jobs that use it.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) near: InterfaceIndex,
    pub(crate) far: InterfaceIndex,
}

impl Pair {
    pub(crate) fn new(names: [&str; 2]) -> Self {
        let mut client = Client::open().unwrap();
        link::create_vxcan(&mut client, names).unwrap();
        let [near, far] = names.map(|name| link::by_name(&mut client, name).unwrap().unwrap().index);
        let pair = Self { near, far };
        for end in [near, far] {
            link::set_up(&mut client, end).unwrap();
        }
        pair.wait();
        pair
    }

    /// The kernel takes a moment to see that both ends are up, and until then drops what is sent.
    pub(crate) fn wait(&self) {
        let [sends, hears] = [self.near, self.far].map(listener_on);
        let deadline = Instant::now() + Duration::from_secs(20);
        while can::poll(&[&hears], Some(Duration::from_millis(20))).unwrap().is_empty() {
            assert!(Instant::now() < deadline, "nothing crosses the pair");
            send(&sends, &classic(0x123, &[1, 2, 3]));
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = Client::open().and_then(|mut client| link::delete(&mut client, self.near));
    }
}
