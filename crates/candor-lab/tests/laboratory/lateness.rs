//! Bounds of response times, and a gateway between simulated buses.

use super::Lab;

const QUEUES: [&str; 3] = ["file", "fifo", "arbitration"];
const ENGINES: [&str; 3] = ["kernel", "bpf", "mmap-adaptive"];

/// The gateway forwards in the kernel and in user space, with bands, with one FIFO queue and in the order of arbitration: no frame
/// is later than its bound, and messages of other nodes are as late as that. All of it is played in one guest.
#[test]
#[ignore = "boots guests"]
fn no_frame_through_a_gateway_is_later_than_its_bound() {
    let Some(lab) = Lab::find() else { return };
    let file = lab.write("26-bounds.toml", include_str!("../../../../examples/26-bounds.toml"));
    let (queues, engines) = (QUEUES.join(","), ENGINES.join(","));
    let words = ["bounds", &file, "--json", "--latency", "1ms", "--controller", "10", "--plays", "20", "--guest"];
    let more = ["--queues", &queues, "--engines", &engines];
    let answer = lab.call(&[&words[..], &more].concat()).exits_with(0).json();
    assert_eq!((&answer["holds"], &answer["engines"]), (&true.into(), &ENGINES.to_vec().into()), "{answer:#}");
    let messages = answer["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 7 * QUEUES.len(), "{answer:#}");
    for message in messages {
        let bound = message["bound_ns"].as_u64().unwrap();
        let guests = message["guests_ns"].as_array().unwrap();
        assert_eq!(guests.len(), ENGINES.len(), "{message:#}");
        for guest in guests {
            let guest = guest.as_u64().unwrap();
            assert!(guest <= bound, "{message:#}");
            // The other nodes are what the analysis assumes, so that they reach 95 % on a bus where the gateway does not send.
            assert!(message["bus"] == "body" || guest * 100 >= bound * 95, "{message:#}");
        }
    }
}
