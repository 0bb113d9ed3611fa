//! Two interfaces that are connected.

use crate::prelude::*;

/// A vxcan pair, deleted with this value.
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

    /// The kernel takes a moment to see that both ends are up, and drops frames until then.
    pub(crate) fn wait(&self) {
        let [sends, hears] = [self.near, self.far].map(listener_on);
        let deadline = Instant::now() + PATIENCE;
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
