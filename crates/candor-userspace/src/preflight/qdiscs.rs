//! Qdiscs that drop frames of a gateway.

use std::collections::BTreeSet;

use candor_config::plan::{Plan, Route, Timestamp};
use candor_egress::netlink;
use candor_netlink::client::Client;

use super::Interfaces;
use super::error::InterfaceError;
use crate::notice::Notice;
use crate::running_kernel::fq_drops_kept_timestamps;

/// Checks the qdiscs of all destination interfaces, including children.
pub(super) fn hazards(
    client: &mut Client,
    plan: &Plan,
    interfaces: &Interfaces,
) -> Result<Vec<Notice>, InterfaceError> {
    let there = netlink::qdiscs(client).map_err(InterfaceError::List)?;
    let has = |bus, kind: &str| {
        let interface = interfaces.present(bus);
        there.iter().any(|there| Some(there.interface) == interface && there.qdisc.discipline.kind() == kind)
    };
    let outgoing: BTreeSet<_> = candor_core::order::set(plan.routes().iter().map(|route| route.to));
    let name = |bus| interfaces.link(bus).name.clone();
    let with_etf = outgoing.into_iter().filter(|&bus| has(bus, "etf"));
    let mut notices: Vec<_> = with_etf.map(|bus| Notice::EtfDrops { interface: name(bus) }).collect();
    let drops = fq_drops_kept_timestamps();
    let is_lost = |route: &&Route| drops && route.timestamp == Timestamp::Kept && has(route.to, "fq");
    let kept = plan.routes().iter().filter(is_lost);
    notices.extend(kept.map(|route| Notice::TimestampDrops { route: route.name.clone(), interface: name(route.to) }));
    Ok(notices)
}
