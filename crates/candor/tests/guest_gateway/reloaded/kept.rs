//! What stays as it is: jobs in the kernel, their order, counters, frames that wait.

use std::time::Instant;

use super::*;
use crate::frames::{classic, hear, send};
use crate::queues;
use crate::require::jobs_between;

/// Routes between the same buses and in the same receive list, so that their order matters.
fn ordered(routes: &[(&str, u32)]) -> String {
    let route = |(name, id): &(&str, u32)| {
        format!(
            "[[route]]\nname = \"{name}\"\nfrom = \"left\"\nto = \"right\"\nframes = \"classic\"\n\
             match = \"{id:X}:7FF\"\necho = true\n"
        )
    };
    BUSES.to_owned() + &routes.iter().map(route).collect::<String>()
}

#[test]
#[ignore = "runs in a guest"]
fn jobs_in_the_kernel_are_exchanged_where_they_differ() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let place = Place::new();
    let before = ordered(&[("a", 0x100), ("b", 0x101), ("c", 0x123), ("d", 0x103)]);
    let candor = place.start(&before, "auto");
    let sender = sender_on(place.left.index);
    let pass = |times: u32| (0..times).for_each(|_| send(&sender, &classic(0x123, &[])));
    pass(3);
    let jobs = || -> Vec<_> {
        let jobs = jobs_between(&[&place.left]);
        jobs.iter().map(|job| (job.filter.id, job.counters.handled)).collect()
    };
    // The kernel forwards after the write() has returned.
    let are = |expected: [(u32, u32); 4]| {
        let deadline = Instant::now() + PATIENCE;
        while jobs() != expected {
            assert!(Instant::now() < deadline, "{:?} instead of {expected:?}", jobs());
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    are([(0x100, 0), (0x101, 0), (0x123, 3), (0x103, 0)]);

    let said = reload(&candor, &place.file(), &ordered(&[("a", 0x100), ("n", 0x1FF), ("c", 0x123), ("d", 0x103)]));
    assert_eq!((&said["new_routes"][0], &said["gone_routes"][0]["route"]), (&"n".into(), &"b".into()), "{said}");
    // The end of the order stays, with what it counted.
    are([(0x100, 0), (0x1FF, 0), (0x123, 3), (0x103, 0)]);

    // Out of the kernel and back: the route goes on with its counters.
    let in_user_space = ordered(&[("c", 0x123)]) + "max-age = \"10s\"\n";
    let said = reload(&candor, &place.file(), &in_user_space);
    assert_eq!((&said["event"], &said["kernel_jobs"]), (&"reloaded".into(), &0.into()), "{said}");
    assert_eq!(jobs(), []);
    let listener = listener_on(place.right.index);
    pass(2);
    for _ in 0..2 {
        hear(&listener, PATIENCE).unwrap();
    }
    let said = reload(&candor, &place.file(), &before);
    assert_eq!((&said["event"], &said["kernel_jobs"]), (&"reloaded".into(), &4.into()), "{said}");
    pass(1);
    are([(0x100, 0), (0x101, 0), (0x123, 1), (0x103, 0)]);
    let ended = candor.end(Signal::Terminate);
    assert!(ended.status.success(), "{ended:?}");
    let routes = ended.event("final-counters")["routes"].clone();
    assert_eq!((&routes[2]["route"], &routes[2]["handled"]), (&"c".into(), &6.into()), "{routes}");
    assert_eq!(jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn frames_that_wait_stay_with_their_route() {
    /// Frames that the queue of the slow bus holds.
    const ROOM: u32 = 20;

    let Some(_machine) = require(NEEDS) else { return };
    for engine in ["read-write", "mmap-adaptive"] {
        let place = Place::new();
        queues::delay(place.right.index, Duration::from_secs(60), ROOM);
        let route = |name: &str, to: &str| {
            format!(
                "[[route]]\nname = \"{name}\"\nfrom = \"left\"\nto = \"{to}\"\necho = false\n\
                 when-full = \"drop-oldest\"\n"
            )
        };
        let candor = place.start(&(BUSES.to_owned() + &route("over", "right")), engine);
        let sender = sender_on(place.left.index);
        (0..ROOM + 10).for_each(|_| send(&sender, &classic(0x123, &[1])));
        let wait = || std::thread::sleep(Duration::from_millis(100));
        wait();

        // The route stays, another comes: the frames wait on. It goes: they have nowhere to go.
        let both = BUSES.to_owned() + THIRD + &route("beside", "third") + &route("over", "right");
        let said = reload(&candor, &place.file(), &both);
        assert_eq!((&said["event"], &said["gone_routes"]), (&"reloaded".into(), &serde_json::json!([])), "{said}");
        let said = reload(&candor, &place.file(), &(BUSES.to_owned() + THIRD + &route("beside", "third")));
        let gone = &said["gone_routes"][0];
        let counted = |key: &str| gone[key].as_u64().unwrap();
        assert_eq!(counted("matched"), u64::from(ROOM + 10), "{engine}: {said}");
        assert_eq!((counted("handled"), counted("dropped")), (u64::from(ROOM), 10), "{engine}: {said}");
        assert_eq!(said["gone_buses"][0]["bus"], "right", "{engine}: {said}");
        assert!(candor.end(Signal::Terminate).status.success());
    }
}
