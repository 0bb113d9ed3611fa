//! Both directions at once, on either side.

use candor_config::plan::Echo;

use super::*;

/// Longer than a frame takes through the gateway.
const SETTLED: Duration = Duration::from_millis(50);
const FRAMES: usize = 300;
const BATCH: usize = 16;

/// Between two buses, with echo and without, and either direction in user space only: a frame that one side sends with echo
/// must not look like an incoming frame to the other. On vxcan the core of the kernel echoes; on real controllers
/// (`--topology kvaser`) the driver does, after transmission.
#[test]
#[ignore = "runs in a guest"]
fn no_frame_circulates_and_none_is_doubled() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let on_controllers = std::env::var("CANDOR_TOPOLOGY").is_ok_and(|topology| topology == "kvaser");
    let _wires = (!on_controllers).then(Wires::new);
    let [near, far] = if on_controllers {
        [["can2", "can3"], ["can0", "can4"]]
    } else {
        [0, 1].map(|end| [NAMES[0][end], NAMES[1][end]])
    };
    for echo in [Echo::On, Echo::Off] {
        for beside_kernel in [0, 1] {
            two_ways(near, far, echo, beside_kernel);
        }
    }
}

fn two_ways(near: [&str; 2], far: [&str; 2], echo: Echo, beside_kernel: usize) {
    let place = format!("{near:?}, echo {echo:?}, route {beside_kernel} beside the kernel");
    let mut client = Client::open().unwrap();
    let mut open = |name: &str| {
        let index = link::by_name(&mut client, name).unwrap().unwrap().index;
        let socket = listener_on(index);
        socket.set_receive_buffer(8 << 20).unwrap();
        socket
    };
    let mut jobs = [0, 1]
        .map(|from| Job { echo, ..Job::plain(BusIndex(from), BusIndex(1 - from), FrameFormat::Classic, Filter::ALL) });
    jobs[beside_kernel].payload.push(ANY_PAYLOAD);
    let (gateway, notices) = Gateway::start(candor_config::arbitrary::plan(&near, &jobs, Engine::Auto)).unwrap();
    assert_eq!(notices, [], "{place}");
    let sides = [0, 1].map(|route| gateway.placement().side(RouteIndex(route)));
    match echo {
        Echo::On => assert_eq!(sides, [Side::User; 2], "{place}"),
        // Since Linux 7.0 in a program.
        Echo::Off => {
            assert_eq!(sides.map(|side| side != Side::Kernel), [0, 1].map(|at| at == beside_kernel), "{place}")
        }
    }
    let ends = far.map(&mut open);
    let locals = near.map(&mut open);
    let numbers: Vec<_> = (0..u32::try_from(FRAMES).unwrap()).collect();
    let mut heard = [Vec::new(), Vec::new()];
    for batch in numbers.chunks(BATCH) {
        for (end, marker) in ends.iter().zip([0x8000_0000_u32, 0]) {
            batch.iter().for_each(|number| send(end, &numbered(number | marker)));
        }
        for (end, heard) in ends.iter().zip(&mut heard) {
            heard.extend((0..batch.len()).map_while(|_| read(end, PATIENCE)));
        }
    }
    // Every frame of the other end once and in order.
    for ((end, heard), marker) in ends.iter().zip(&heard).zip([0, 0x8000_0000]) {
        let expected: Vec<_> = numbers.iter().map(|number| number | marker).collect();
        assert_eq!(heard, &expected, "{place}");
        assert_eq!(read(end, SETTLED), None, "{place}: a frame too many");
    }
    // Local sockets receive incoming frames once, and with echo outgoing ones too.
    for local in &locals {
        let mut heard: Vec<_> = std::iter::from_fn(|| read(local, SETTLED)).collect();
        heard.sort_unstable();
        let both: Vec<_> = numbers.iter().copied().chain(numbers.iter().map(|number| number | 0x8000_0000)).collect();
        let expected = if echo == Echo::On { both.len() } else { numbers.len() };
        assert_eq!(heard.len(), expected, "{place}: local sockets");
        heard.dedup();
        assert_eq!(heard.len(), expected, "{place}: local sockets hear a frame twice");
    }
    let counted = gateway.stop().unwrap().counters;
    let frames = FRAMES as u64;
    let counted = counted.iter().map(|route| (route.handled, route.dropped, route.deleted));
    assert_eq!(counted.collect::<Vec<_>>(), [(frames, 0, 0); 2], "{place}");
}

fn read(socket: &CanSocket, patience: Duration) -> Option<u32> {
    hear(socket, patience).as_ref().map(number_of)
}
