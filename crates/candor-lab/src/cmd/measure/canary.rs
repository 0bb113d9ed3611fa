//! The canary: a short cell that every node of a cluster measures before its shard. Where instructions are counted, it is the same
//! byte for byte on nodes that measure alike; `candor-lab merge` compares it.

use candor_lab::cells::Order;
use candor_lab::experiment::{Block, Cell, Plan, Testbed};

use super::expected;
use super::guests::{self, Run};
use super::lease::Lease;
use super::machines::Supervisors;
use super::results::{KernelFiles, Results};
use crate::cli::GuestLimits;

const FRAMES: u32 = 100;
const WARM_UP: u32 = 10;
const NAME: &str = "canary";

/// The shortest cell of a plan that counts instructions; `None` if there is none.
pub(super) fn cell(plan: &Plan) -> Option<&Cell> {
    let counted = plan.cells().iter().filter(|cell| cell.conditions.testbed == Testbed::Icount);
    counted.min_by_key(|cell| expected::us_of_cell(plan, cell))
}

/// Measures the canary on this node and keeps its record in `results`. The name of the record, or why there is none.
pub(super) fn measure(
    plan: &Plan,
    cell: &Cell,
    results: &Results,
    limits: GuestLimits,
    supervisors: &Supervisors,
    files: &KernelFiles,
    lease: &Lease,
) -> Result<Result<String, Run>, Box<dyn std::error::Error>> {
    let mut short = plan.clone();
    (short.frames, short.warm_up) = (plan.frames.min(FRAMES), plan.warm_up.min(WARM_UP));
    let block = Block { conditions: &cell.conditions, cells: vec![cell], name: NAME.to_owned() };
    let order = Order::of(&short, &block)?;
    let folder = tempfile::tempdir()?;
    let own = Results::open(folder.path(), &[], &short.logs)?;
    let run = guests::run(limits, &own, &[(&block, order)], supervisors, files, lease, 0)?;
    if !run.broken.is_empty() {
        return Ok(Err(run));
    }
    // A cell that fails, fails alike.
    let files = own.files(NAME)?;
    let record = own.record(NAME, &cell.name(&short)).file_name().and_then(|file| files.get(file.to_str()?));
    let record = record.or_else(|| files.values().next()).ok_or("The canary was not measured")?;
    Ok(Ok(results.keep_canary(record)?))
}
