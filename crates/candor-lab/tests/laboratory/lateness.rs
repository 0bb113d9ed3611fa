//! Bounds of response times, and a gateway between simulated buses.

use super::Lab;

/// The gateway forwards in user space and in the kernel, with bands and with one FIFO queue: no frame is later than its bound, and
/// messages of other nodes are as late as that.
#[test]
#[ignore = "boots guests"]
fn no_frame_through_a_gateway_is_later_than_its_bound() {
    let Some(lab) = Lab::find() else { return };
    let text = include_str!("../../../../examples/26-bounds.toml");
    let egress = text.split_once("[egress.body]").unwrap().1.split_once("[[traffic]]").unwrap().0;
    for (name, text) in [
        ("kernel-bands.toml", format!("engine = \"kernel\"\n{text}")),
        (
            "user-fifo.toml",
            format!("engine = \"mmap-adaptive\"\n{}", text.replace(&format!("[egress.body]{egress}"), "")),
        ),
    ] {
        let file = lab.write(name, &text);
        let words = ["bounds", &file, "--json", "--latency", "1ms", "--controller", "10", "--plays", "20", "--guest"];
        let answer = lab.call(&words).exits_with(0).json();
        assert_eq!(answer["holds"], true, "{name}: {answer:#}");
        let messages = answer["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 7, "{answer:#}");
        for message in messages {
            let (bound, guest) = (message["bound_ns"].as_u64().unwrap(), message["guest_ns"].as_u64().unwrap());
            assert!(guest <= bound, "{name}: {message:#}");
            // The other nodes are what the analysis assumes, so that they reach 95 %.
            let is_forwarded = ["0A0 on bus body", "7E8 on bus body"].contains(&message["message"].as_str().unwrap());
            let shares_the_bus_with_the_gateway = message["bus"] == "body";
            assert!(
                is_forwarded || shares_the_bus_with_the_gateway || guest * 100 >= bound * 95,
                "{name}: {message:#}"
            );
        }
    }
}
