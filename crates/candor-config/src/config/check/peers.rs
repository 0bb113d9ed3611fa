//! `vxcan-peer`: which interfaces are two ends of one pair.

use crate::config::check::buses::BusNames;
use crate::config::check::route;
use crate::config::code;
use crate::config::spec::Spec;
use crate::plan::BusIndex;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::quote;

/// The peer of each bus. It is enough that one end names the other.
pub(super) fn peers(spec: &Spec, names: &BusNames<'_>, findings: &mut Findings) -> Option<Vec<Option<BusIndex>>> {
    let mut peers = vec![None; spec.buses.len()];
    // The bus that said so.
    let mut said_by: Vec<Option<usize>> = vec![None; spec.buses.len()];
    let mut is_sound = true;
    for (index, bus) in spec.buses.iter().enumerate() {
        let Some(written) = &bus.vxcan_peer else { continue };
        let Some(peer) = route::bus(written, names, findings) else {
            is_sound = false;
            continue;
        };
        let diagnostic = |message: String| Diagnostic::error(code::VXCAN_PEER, written.span.clone(), message);
        let own = BusIndex(index);
        if peer == own {
            let message = format!("Bus {} cannot be its own peer", quote(&bus.name.value));
            findings.report(diagnostic(message).help("a vxcan pair has two ends; name the bus at the other end"));
            is_sound = false;
            continue;
        }
        let taken = [index, peer.0].into_iter().find(|&end| {
            let other_end = if end == index { peer } else { own };
            peers[end].is_some_and(|known| known != other_end)
        });
        if let Some((end, speaker)) = taken.and_then(|end| Some((end, said_by[end]?))) {
            let speaker = &spec.buses[speaker];
            let message = format!("Bus {} already has a peer", quote(&spec.buses[end].name.value));
            let first = speaker.vxcan_peer.as_ref().unwrap_or(&speaker.name).span.clone();
            findings.report(
                diagnostic(message)
                    .also(first, "first named here")
                    .help("a vxcan pair has two ends, and each end is one bus"),
            );
            is_sound = false;
            continue;
        }
        (peers[index], peers[peer.0]) = (Some(peer), Some(own));
        (said_by[index], said_by[peer.0]) = (said_by[index].or(Some(index)), said_by[peer.0].or(Some(index)));
    }
    is_sound.then_some(peers)
}
