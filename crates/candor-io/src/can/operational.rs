//! Waiting for the operational state of an interface.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Poll interval. The kernel updates new links once a second.
const LOOK: Duration = Duration::from_millis(20);

/// Waits until the interface is operational; false after the timeout. An interface that was just set up may lose frames
/// before.
///
/// # Kernel
/// `/sys/class/net/NAME/operstate`: interfaces of the network namespace in which sysfs was mounted.
#[must_use]
pub fn wait_until_operational(name: &str, at_most: Duration) -> bool {
    let path = format!("/sys/class/net/{name}/operstate");
    let deadline = Instant::now() + at_most;
    loop {
        if fs::read_to_string(&path).is_ok_and(|state| state.trim() == "up") {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_what_is_not_there_ends() {
        assert!(!wait_until_operational("no-such-name", Duration::from_millis(1)));
    }
}
