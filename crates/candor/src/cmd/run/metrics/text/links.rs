//! Metrics of `[link.NAME]`, as `candor-link` tells them.

use std::collections::BTreeMap;
use std::fmt;

use candor_cli::link::State;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::{Column, family};

type Reasons = fn(&State) -> &BTreeMap<String, u64>;

pub(super) fn encode(links: &[State], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    // Files without links have no metrics of links.
    if links.is_empty() {
        return Ok(());
    }
    let gauges: [Column<State, u64>; 2] = [
        ("link_up", "1 while frames can be exchanged with the peer", |link| u64::from(link.is_up)),
        ("link_waiting_frames", "Frames that wait for the network", |link| link.waiting_frames),
    ];
    let counters: [Column<State, u64>; 5] = [
        ("link_connections", "Connections with a peer", |link| link.connections),
        ("link_received_frames", "Frames of the peer that were put on the bus", |link| link.received_frames),
        ("link_sent_frames", "Frames of the bus that the network took", |link| link.sent_frames),
        ("link_lost_frames", "Frames of the peer that did not arrive, as far as the protocol tells", |link| {
            link.lost_frames
        }),
        ("link_lost_datagrams", "Datagrams of the peer that did not arrive", |link| link.lost_datagrams),
    ];
    let kinds = [(MetricType::Gauge, gauges.as_slice()), (MetricType::Counter, counters.as_slice())];
    for (kind, columns) in kinds {
        for (name, help, value) in columns {
            let values = links.iter().map(|link| ([("link", link.link.as_str())], value(link)));
            family(encoder, kind, (name, help), values)?;
        }
    }
    let by_reason: [(&str, &str, Reasons); 2] = [
        ("link_dropped_frames", "Frames of the bus that were not sent, by reason", |link| &link.dropped_frames),
        ("link_refused_frames", "Frames of the peer that were not put on the bus, by reason", |link| {
            &link.refused_frames
        }),
    ];
    for (name, help, reasons) in by_reason {
        let values = links.iter().flat_map(|link| {
            reasons(link).iter().map(|(reason, frames)| ([("link", link.link.as_str()), ("reason", reason)], *frames))
        });
        family(encoder, MetricType::Counter, (name, help), values)?;
    }
    Ok(())
}
