//! Conditions of a measurement, equal for all gateways of a command, because their figures could not be compared otherwise.

use candor_config::engine::{Engine, UserEngine};
use candor_io::schedule::Policy;
use candor_lab::tester::Origin;

use crate::cli::{ConditionArgs, TesterPolicy};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conditions {
    pub(crate) policy: Policy,
    pub(crate) origin: Origin,
    /// The reason for unusual conditions.
    pub(crate) because: Option<String>,
}

impl Conditions {
    /// The conditions of the arguments, or those that the engines need. Fails if an engine cannot be measured like that.
    pub(crate) fn of(args: ConditionArgs, processors: usize, engines: &[Engine]) -> Result<Self, String> {
        let shared = processors == 1;
        let spinning = engines.iter().find_map(|engine| match engine {
            Engine::User(engine) if shared && engine.receiver().spins() => Some(*engine),
            _ => None,
        });
        let needs_timer = match spinning {
            Some(engine) => Some(never_waits(engine)),
            None => args.bare_metal.then(|| SECOND_PROCESSOR.to_owned()),
        };
        let origin = match (args.frames_from, &needs_timer) {
            (Some(Origin::Timer), _) | (None, Some(_)) => Origin::Timer,
            (None | Some(Origin::Call), None) => Origin::Call,
            (Some(Origin::Call), Some(because)) => {
                return Err(format!(
                    "{because} The work of the tester after sending would be included in the latency: add --frames-from timer, \
                     or use a machine with more CPUs"
                ));
            }
        };
        let policy = match (args.policy.0, spinning) {
            (Some(Policy::Idle), Some(engine)) => {
                return Err(format!(
                    "{} An idle-priority tester would never run: use --policy fifo, or omit --policy",
                    never_waits(engine)
                ));
            }
            (Some(policy), _) => policy,
            (None, _) if shared && origin == Origin::Call => Policy::Idle,
            (None, _) => TesterPolicy::FIFO,
        };
        let because = needs_timer.filter(|_| args.frames_from.is_none()).map(|because| {
            format!(
                "{because} So the frames of all gateways come from a timer (--frames-from timer); do not compare these figures \
                 with those of frames from calls"
            )
        });
        Ok(Self { policy, origin, because })
    }
}

const SECOND_PROCESSOR: &str =
    "A gateway without an operating system has a processor that runs only while the tester's is idle.";

fn never_waits(engine: UserEngine) -> String {
    format!("The engine {engine} never waits, and shares the only CPU with the tester.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUTO: ConditionArgs =
        ConditionArgs { frames_from: None, policy: TesterPolicy(None), baselines: false, bare_metal: false };

    fn engines(names: &[&str]) -> Vec<Engine> {
        names.iter().map(|name| Engine::named(name).unwrap()).collect()
    }

    fn of(args: ConditionArgs, processors: usize, names: &[&str]) -> Result<(Policy, Origin), String> {
        Conditions::of(args, processors, &engines(names)).map(|conditions| (conditions.policy, conditions.origin))
    }

    #[test]
    fn polling_engine_determines_conditions_of_all() {
        let waiting = ["kernel", "auto", "read-write", "mmap-adaptive"];
        assert_eq!(of(AUTO, 1, &waiting), Ok((Policy::Idle, Origin::Call)));
        assert_eq!(of(AUTO, 1, &[]), Ok((Policy::Idle, Origin::Call)));
        for spinning in ["mmapbusy-write", "mmapbusy-adaptive", "readnb-write", "readnb-mmsg"] {
            assert_eq!(of(AUTO, 1, &["kernel", spinning]), Ok((TesterPolicy::FIFO, Origin::Timer)));
            // With two processors the conditions are the usual ones.
            assert_eq!(of(AUTO, 2, &[spinning]), Ok((TesterPolicy::FIFO, Origin::Call)));
        }
        let all = Conditions::of(AUTO, 1, &engines(&["kernel", "mmapbusy-write"])).unwrap();
        assert!(all.because.unwrap().starts_with("The engine mmapbusy-write never waits"));
        assert_eq!(Conditions::of(AUTO, 1, &engines(&waiting)).unwrap().because, None);
    }

    #[test]
    fn unsuitable_conditions_are_refused_with_a_remedy() {
        let call = ConditionArgs { frames_from: Some(Origin::Call), ..AUTO };
        assert!(of(call, 1, &["readnb-write"]).unwrap_err().contains("--frames-from timer"));
        assert_eq!(of(call, 4, &["readnb-write"]), Ok((TesterPolicy::FIFO, Origin::Call)));
        let idle = ConditionArgs { policy: TesterPolicy(Some(Policy::Idle)), ..AUTO };
        assert!(of(idle, 1, &["mmapbusy-write"]).unwrap_err().contains("--policy fifo"));
        assert_eq!(of(idle, 1, &["read-write"]), Ok((Policy::Idle, Origin::Call)));
    }

    #[test]
    fn second_processor_determines_conditions_of_all() {
        let bare_metal = ConditionArgs { bare_metal: true, ..AUTO };
        assert_eq!(of(bare_metal, 1, &["kernel"]), Ok((TesterPolicy::FIFO, Origin::Timer)));
        let call = ConditionArgs { frames_from: Some(Origin::Call), ..bare_metal };
        assert!(of(call, 1, &["kernel"]).unwrap_err().contains("--frames-from timer"));
    }

    #[test]
    fn arguments_override_defaults() {
        let timer = ConditionArgs { frames_from: Some(Origin::Timer), ..AUTO };
        assert_eq!(of(timer, 1, &["kernel"]), Ok((TesterPolicy::FIFO, Origin::Timer)));
        let normal = ConditionArgs { policy: TesterPolicy(Some(Policy::Normal)), ..timer };
        assert_eq!(of(normal, 1, &["mmapbusy-write"]), Ok((Policy::Normal, Origin::Timer)));
    }
}
