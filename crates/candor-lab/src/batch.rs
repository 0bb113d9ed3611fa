//! Batch systems: what a task of one knows of itself, from its environment.

use crate::experiment::Shard;

/// Number of all shards, whatever part of them was submitted. Scripts of `candor-lab measure --emit` set it.
pub const COUNT: &str = "CANDOR_SHARDS";

/// A batch system that numbers the tasks of a job.
#[derive(Debug)]
struct System {
    name: &'static str,
    /// The number of the task; a value that is no number is that of a job without tasks.
    task: &'static str,
    /// The number of the first shard.
    base: u32,
    /// Where the number of tasks is, apart from [`COUNT`].
    count: Count,
}

#[derive(Debug)]
enum Count {
    /// Variables with the number of tasks, the first and the last task. They are those of all shards only if the tasks have
    /// no gaps and begin with 1.
    Span { first: &'static str, last: &'static str, hint: &'static str },
    /// A variable that the user of this system gives.
    Given(&'static str),
}

/// <https://slurm.schedmd.com/job_array.html>, qsub(1) of Grid Engine, parallel(1), the Kubernetes documentation of indexed jobs, and
/// that of Nomad's runtime environment.
const SYSTEMS: [System; 5] = [
    System {
        name: "Slurm",
        task: "SLURM_ARRAY_TASK_ID",
        base: 1,
        count: Count::Span { first: "SLURM_ARRAY_TASK_MIN", last: "SLURM_ARRAY_TASK_MAX", hint: "--array=1-N" },
    },
    System {
        name: "Grid Engine",
        task: "SGE_TASK_ID",
        base: 1,
        count: Count::Span { first: "SGE_TASK_FIRST", last: "SGE_TASK_LAST", hint: "-t 1-N" },
    },
    System { name: "GNU parallel", task: "PARALLEL_SEQ", base: 1, count: Count::Given(COUNT) },
    System { name: "Kubernetes", task: "JOB_COMPLETION_INDEX", base: 0, count: Count::Given(COUNT) },
    System { name: "Nomad", task: "NOMAD_ALLOC_INDEX", base: 0, count: Count::Given("NOMAD_META_CANDOR_SHARDS") },
];

/// Number of tasks that were submitted, and the distance between them, which tell an array with gaps.
const SUBMITTED: &str = "SLURM_ARRAY_TASK_COUNT";
const STEPS: [&str; 2] = ["SLURM_ARRAY_TASK_STEP", "SGE_TASK_STEPSIZE"];

/// Names of a node, if a host name is none: several nodes on one host, or a container.
const NODES: [&str; 2] = ["SLURMD_NODENAME", "NODE_NAME"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub shard: Shard,
    /// The variables and their values.
    pub from: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    #[error(
        "--shard auto finds no task of a batch system: none of {} is set; give the shard, such as --shard 2/8",
        tasks()
    )]
    None,
    #[error("--shard auto finds tasks of two batch systems, {0} and {1}: give the shard, such as --shard 2/8")]
    Two(String, String),
    #[error("{task} is set, but not the number of all shards: set {count}")]
    NoCount { task: String, count: &'static str },
    #[error(
        "{task} is a task of an array that may be a part of the shards ({span}): submit {hint}, or set {COUNT} to the \
         number of all shards"
    )]
    Part { task: String, span: String, hint: &'static str },
    #[error("{0} is not a number")]
    NoNumber(String),
    #[error("{task} is none of the {count} shards, which are numbered from {base}")]
    Outside { task: String, count: u32, base: u32 },
}

fn tasks() -> String {
    SYSTEMS.map(|system| system.task).join(", ")
}

/// The shard of the task with this environment.
///
/// # Errors
/// If there is none, or if its number or that of all shards is not certain.
pub fn shard(environment: impl Fn(&str) -> Option<String>) -> Result<Found, BatchError> {
    let value = |name: &str| environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let shown = |name: &str| format!("{name}={}", value(name).unwrap_or_default());
    // Grid Engine says "undefined" in a job without tasks.
    let mut here = SYSTEMS.iter().filter(|system| value(system.task).is_some_and(|value| value != "undefined"));
    let system = here.next().ok_or(BatchError::None)?;
    if let Some(other) = here.next() {
        return Err(BatchError::Two(shown(system.task), shown(other.task)));
    }
    let number = |name: &str| {
        let read = |text: String| text.parse::<u32>().map_err(|_no_number| BatchError::NoNumber(shown(name)));
        value(name).map(read).transpose()
    };
    let task = number(system.task)?.ok_or(BatchError::None)?;
    let (count, from) = match (number(COUNT)?, &system.count) {
        (Some(count), _) => (count, shown(COUNT)),
        (None, Count::Given(name)) => match number(name)? {
            Some(count) => (count, shown(name)),
            None => return Err(BatchError::NoCount { task: shown(system.task), count: COUNT }),
        },
        (None, Count::Span { first, last, hint }) => {
            let (Some(from), Some(to)) = (number(first)?, number(last)?) else {
                return Err(BatchError::NoCount { task: shown(system.task), count: COUNT });
            };
            let mut is_whole = from == system.base && to >= from;
            is_whole &= number(SUBMITTED)?.is_none_or(|count| count == to);
            for name in STEPS {
                is_whole &= number(name)?.is_none_or(|step| step == 1);
            }
            // One task is more often one that is repeated than a whole plan.
            if !is_whole || to == 1 {
                let span = format!("{}, {}", shown(first), shown(last));
                return Err(BatchError::Part { task: shown(system.task), span, hint });
            }
            (to, shown(last))
        }
    };
    let outside = || BatchError::Outside { task: shown(system.task), count, base: system.base };
    let shard = (task + 1).checked_sub(system.base).and_then(|number| Shard::new(number, count)).ok_or_else(outside)?;
    Ok(Found { shard, from: format!("{}: {}, {from}", system.name, shown(system.task)) })
}

/// The name of this node, which is that of the host unless the batch system has another.
pub fn node(environment: impl Fn(&str) -> Option<String>) -> String {
    let named = NODES.iter().filter_map(|name| environment(name)).find(|name| !name.is_empty());
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = named.or_else(host).unwrap_or_default();
    if name.trim().is_empty() { "unknown".to_owned() } else { name.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn of(variables: Variables<'_>) -> Result<Found, BatchError> {
        shard(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    fn slurm(
        task: &'static str,
        count: &'static str,
        min: &'static str,
        max: &'static str,
    ) -> [(&'static str, &'static str); 4] {
        [
            ("SLURM_ARRAY_TASK_ID", task),
            ("SLURM_ARRAY_TASK_COUNT", count),
            ("SLURM_ARRAY_TASK_MIN", min),
            ("SLURM_ARRAY_TASK_MAX", max),
        ]
    }

    #[test]
    fn tasks_of_every_system_are_shards() {
        let cases: [(Variables<'_>, &str, &str); 7] = [
            (&slurm("3", "16", "1", "16"), "3/16", "Slurm: SLURM_ARRAY_TASK_ID=3, SLURM_ARRAY_TASK_MAX=16"),
            (
                &[("SGE_TASK_ID", "2"), ("SGE_TASK_FIRST", "1"), ("SGE_TASK_LAST", "4"), ("SGE_TASK_STEPSIZE", "1")],
                "2/4",
                "Grid Engine: SGE_TASK_ID=2, SGE_TASK_LAST=4",
            ),
            (&[("PARALLEL_SEQ", "5"), (COUNT, "5")], "5/5", "GNU parallel: PARALLEL_SEQ=5, CANDOR_SHARDS=5"),
            (
                &[("JOB_COMPLETION_INDEX", "0"), (COUNT, "3")],
                "1/3",
                "Kubernetes: JOB_COMPLETION_INDEX=0, CANDOR_SHARDS=3",
            ),
            (
                &[("NOMAD_ALLOC_INDEX", "2"), ("NOMAD_META_CANDOR_SHARDS", "3")],
                "3/3",
                "Nomad: NOMAD_ALLOC_INDEX=2, NOMAD_META_CANDOR_SHARDS=3",
            ),
            (
                &[("PARALLEL_SEQ", "1"), (COUNT, "2"), ("SGE_TASK_ID", "undefined")],
                "1/2",
                "GNU parallel: PARALLEL_SEQ=1, CANDOR_SHARDS=2",
            ),
            // Tasks that are repeated: the number of all shards is given.
            (
                &[slurm("7", "2", "7", "12").as_slice(), &[(COUNT, "16")]].concat(),
                "7/16",
                "Slurm: SLURM_ARRAY_TASK_ID=7, CANDOR_SHARDS=16",
            ),
        ];
        for (variables, shard, from) in cases {
            let found = of(variables).unwrap_or_else(|error| panic!("{variables:?}: {error}"));
            assert_eq!((found.shard.to_string().as_str(), found.from.as_str()), (shard, from));
        }
    }

    #[test]
    fn uncertain_shards_are_refused_with_a_remedy() {
        let cases: [(Variables<'_>, &str); 12] = [
            (
                &[],
                "none of SLURM_ARRAY_TASK_ID, SGE_TASK_ID, PARALLEL_SEQ, JOB_COMPLETION_INDEX, NOMAD_ALLOC_INDEX is set",
            ),
            (&[(COUNT, "3")], "none of"),
            (
                &[("SLURM_ARRAY_TASK_ID", "3")],
                "SLURM_ARRAY_TASK_ID=3 is set, but not the number of all shards: set CANDOR_SHARDS",
            ),
            (&[("PARALLEL_SEQ", "3")], "PARALLEL_SEQ=3 is set, but not the number of all shards"),
            (&[("SLURM_ARRAY_TASK_ID", "x"), (COUNT, "4")], "SLURM_ARRAY_TASK_ID=x is not a number"),
            (&[("PARALLEL_SEQ", "1"), (COUNT, "many")], "CANDOR_SHARDS=many is not a number"),
            (
                &[("PARALLEL_SEQ", "1"), ("JOB_COMPLETION_INDEX", "0")],
                "two batch systems, PARALLEL_SEQ=1 and JOB_COMPLETION_INDEX=0",
            ),
            (
                &[("PARALLEL_SEQ", "5"), (COUNT, "4")],
                "PARALLEL_SEQ=5 is none of the 4 shards, which are numbered from 1",
            ),
            (
                &[("JOB_COMPLETION_INDEX", "4"), (COUNT, "4")],
                "JOB_COMPLETION_INDEX=4 is none of the 4 shards, which are numbered from 0",
            ),
            (&slurm("7", "2", "7", "12"), "submit --array=1-N, or set CANDOR_SHARDS"),
            (&slurm("1", "2", "1", "12"), "(SLURM_ARRAY_TASK_MIN=1, SLURM_ARRAY_TASK_MAX=12)"),
            (&slurm("1", "1", "1", "1"), "may be a part of the shards"),
        ];
        for (variables, message) in cases {
            let error = of(variables).unwrap_err().to_string();
            assert!(error.contains(message), "{variables:?}: {error}");
        }
        // From 0, as an array can be numbered, the first shard would be missing or the last one none.
        assert!(of(&slurm("0", "4", "0", "3")).is_err());
        assert!(of(&[slurm("0", "4", "0", "3").as_slice(), &[(COUNT, "4")]].concat()).is_err());
    }

    #[test]
    fn node_has_the_name_of_the_batch_system() {
        assert_eq!(node(|name| (name == "SLURMD_NODENAME").then(|| "n2".to_owned())), "n2");
        assert!(!node(|_| None).is_empty());
    }
}
