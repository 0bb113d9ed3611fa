//! What a reload keeps: jobs in the kernel, their order, counters, waiting frames.

use super::*;
use crate::queues;

/// Routes between the same buses in the same receive list, where the order matters.
fn ordered(routes: &[(&str, u32)]) -> String {
    let one = |(name, id): &(&str, u32)| {
        route(name, "left", "right", &format!("frames = \"classic\"\nmatch = \"{id:X}:7FF\"\necho = true"))
    };
    LEFT_RIGHT.to_owned() + &routes.iter().map(one).collect::<String>()
}

#[test]
#[ignore = "runs in a guest"]
fn replaces_only_jobs_that_differ() {
    let Some(place) = scene(VCAN_AND_CANGW) else { return };
    let before = ordered(&[("a", 0x100), ("b", 0x101), ("c", 0x123), ("d", 0x103)]);
    let candor = place.start_reloadable(&before, "auto");
    let sender = place.sender("left");
    let pass = |times: u32| (0..times).for_each(|_| send(&sender, &classic(0x123, &[])));
    pass(3);
    let jobs = || place.jobs().iter().map(|job| (job.filter.id, job.counters.handled)).collect::<Vec<_>>();
    // The kernel forwards after write() has returned.
    let are = |expected: [(u32, u32); 4]| wait_until(&format!("jobs {expected:?}"), || jobs() == expected);
    are([(0x100, 0), (0x101, 0), (0x123, 3), (0x103, 0)]);

    let answer = place.reload(&candor, &ordered(&[("a", 0x100), ("n", 0x1FF), ("c", 0x123), ("d", 0x103)]));
    assert_eq!((&answer["new_routes"][0], &answer["gone_routes"][0]["route"]), (&"n".into(), &"b".into()), "{answer}");
    // The last jobs stay, with their counters.
    are([(0x100, 0), (0x1FF, 0), (0x123, 3), (0x103, 0)]);

    // To user space and back: the route keeps its counters.
    let in_user_space = ordered(&[("c", 0x123)]) + "max-age = \"10s\"\n";
    let answer = place.reload(&candor, &in_user_space);
    assert_eq!((&answer["event"], &answer["kernel_jobs"]), (&"reloaded".into(), &0.into()), "{answer}");
    assert_eq!(jobs(), []);
    let listener = place.listener("right");
    pass(2);
    for _ in 0..2 {
        next_frame(&listener);
    }
    let answer = place.reload(&candor, &before);
    assert_eq!((&answer["event"], &answer["kernel_jobs"]), (&"reloaded".into(), &4.into()), "{answer}");
    pass(1);
    are([(0x100, 0), (0x101, 0), (0x123, 1), (0x103, 0)]);
    assert_eq!(candor.stop().counted("c")[0], 6);
    assert_eq!(jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn waiting_frames_stay_with_their_route() {
    /// Frames that the queue of the slow bus holds.
    const ROOM: u32 = 20;

    for engine in ["read-write", "mmap-adaptive"] {
        let Some(place) = scene(VCAN) else { return };
        queues::delay(place.index("right"), Duration::from_secs(60), ROOM);
        let keys = "echo = false\nwhen-full = \"drop-oldest\"";
        let [over, beside] = [("over", "right"), ("beside", "third")].map(|(name, to)| route(name, "left", to, keys));
        let candor = place.start_reloadable(&(LEFT_RIGHT.to_owned() + &over), engine);
        let sender = place.sender("left");
        (0..ROOM + 10).for_each(|_| send(&sender, &classic(0x123, &[1])));
        std::thread::sleep(Duration::from_millis(100));

        // With another route the frames still wait. Without their own they are dropped.
        let other = LEFT_RIGHT.to_owned() + THIRD + &beside;
        let both = other.clone() + &over;
        let answer = place.reload(&candor, &both);
        assert_eq!((&answer["event"], &answer["gone_routes"]), (&"reloaded".into(), &json!([])), "{answer}");
        let answer = place.reload(&candor, &other);
        let gone = &answer["gone_routes"][0];
        let counted = |key: &str| gone[key].as_u64().unwrap();
        assert_eq!(counted("matched"), u64::from(ROOM + 10), "{engine}: {answer}");
        assert_eq!((counted("handled"), counted("dropped")), (u64::from(ROOM), 10), "{engine}: {answer}");
        assert_eq!(answer["gone_buses"][0]["bus"], "right", "{engine}: {answer}");
        candor.stop();
    }
}
