//! Bands, queues and identifiers with which deadlines hold.

use std::fmt::Write as _;

use candor_bounds::{Analysis, BusId, MessageId, Network, NodeId, Problem, Queue};
use candor_config::bounds::{Model, id_text};
use serde::Serialize;

/// With `--propose`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Proposals {
    queues: Vec<OfQueue>,
    identifiers: Vec<OfIdentifiers>,
}

/// A queue of this machine.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfQueue {
    bus: String,
    /// All deadlines of its frames hold with the queue of the file.
    holds: bool,
    /// Tables for the file; `null` if none is needed, or none was found.
    egress: Option<String>,
}

/// The identifiers of a bus on which a deadline can be missed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfIdentifiers {
    bus: String,
    /// Messages that get another identifier. `null`: no order was found.
    changes: Option<Vec<Change>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Change {
    from_hex: String,
    to_hex: String,
}

impl Proposals {
    pub(super) fn of(model: &Model<'_>, analysis: &Analysis) -> Result<Self, Vec<Problem>> {
        let queues = model.nodes_of_this_machine().map(|node| queue(model, analysis, node));
        let is_missed = |bus: &BusId| {
            analysis.bounds().any(|(message, bound)| !bound.holds() && model.network.bus_of(message) == *bus)
        };
        let missed = (0..model.network.buses.len()).map(BusId).filter(is_missed);
        let identifiers = missed.map(|bus| {
            let proposed = analysis.propose_identifiers(bus).filter(|proposed| proposed.holds);
            let changes = proposed.map(|proposed| {
                let now = |message: MessageId| model.network.messages[message.0].id;
                let others = proposed.order.into_iter().filter(|(message, id)| now(*message) != *id);
                others
                    .map(|(message, id)| Change { from_hex: id_text(now(message)), to_hex: id_text(id) })
                    .collect::<Vec<_>>()
            });
            OfIdentifiers { bus: model.bus(bus).to_owned(), changes }
        });
        Ok(Self { queues: queues.collect::<Result<_, _>>()?, identifiers: identifiers.collect() })
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for OfQueue { bus, holds, egress } in &self.queues {
            let _ = match (holds, egress) {
                (true, _) => writeln!(text, "queue of candor on bus {bus}: its deadlines hold as it is\n"),
                (false, Some(egress)) => {
                    writeln!(
                        text,
                        "queue of candor on bus {bus}: its deadlines hold with these bands in the file:\n\n{egress}"
                    )
                }
                (false, None) => {
                    writeln!(text, "queue of candor on bus {bus}: there are no bands with which its deadlines hold\n")
                }
            };
        }
        for OfIdentifiers { bus, changes } in &self.identifiers {
            let _ = match changes.as_deref() {
                None => writeln!(text, "identifiers of bus {bus}: no order was found in which its deadlines hold\n"),
                Some([]) => writeln!(text, "identifiers of bus {bus}: their order is not the reason\n"),
                Some(changes) => {
                    let change = |one: &Change| format!("  {} -> {}\n", one.from_hex, one.to_hex);
                    let changes: String = changes.iter().map(change).collect();
                    writeln!(text, "identifiers of bus {bus}: its deadlines hold with these:\n{changes}")
                }
            };
        }
        text
    }
}

fn queue(model: &Model<'_>, analysis: &Analysis, node: NodeId) -> Result<OfQueue, Vec<Problem>> {
    let bus = model.bus(model.network.nodes[node.0].bus).to_owned();
    let holds = all_hold(&model.network, analysis, node);
    let proposed = || analysis.propose_bands(node, candor_egress::policy::MOST_BANDS).filter(|bands| bands.holds);
    let egress = if holds {
        None
    } else if let Some(proposed) = proposed() {
        Some(model.egress_with_bands(&bus, &proposed.bands))
    } else {
        let mut network = model.network.clone();
        network.nodes[node.0].queue = Queue::Arbitration;
        let analysis = network.analyse(analysis.assumptions())?;
        all_hold(&network, &analysis, node).then(|| format!("[egress.{bus}]\nqueue = \"arbitration\"\n"))
    };
    Ok(OfQueue { bus, holds, egress })
}

fn all_hold(network: &Network, analysis: &Analysis, node: NodeId) -> bool {
    analysis.bounds().all(|(message, bound)| bound.holds() || network.messages[message.0].node != node)
}
