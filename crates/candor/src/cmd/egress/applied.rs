//! What was done on an interface, in words.

use candor_egress::kernel::Applied;
use candor_egress::tree::Tree;

use candor_cli::gateway_file::plural;

/// In a few words, behind the name of the interface.
pub(in crate::cmd) fn text(applied: &Applied) -> String {
    let Applied { before, steps, .. } = applied;
    if steps.requests.is_empty() {
        return "was as it should be".to_owned();
    }
    let requests = plural(steps.requests.len(), "request");
    let lost = if steps.loses_frames { "; frames that waited are lost" } else { "" };
    if *before == Tree::default() {
        return format!("made, {requests}");
    }
    let kinds: Vec<_> = before.qdiscs.iter().map(|qdisc| qdisc.discipline.kind()).collect();
    format!("changed, {requests}; there was {} before{lost}", kinds.join(", "))
}
