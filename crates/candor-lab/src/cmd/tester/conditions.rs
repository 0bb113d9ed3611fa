//! Under which conditions gateways are measured: all of a command under the same, because figures of different ones say
//! nothing about each other.

use candor_config::engine::{Engine, UserEngine};
use candor_io::schedule::Policy;
use candor_lab::tester::Origin;

use crate::cli::{ConditionArgs, FramesFrom, TesterPolicy};

/// What is the same for all gateways of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conditions {
    pub(crate) policy: Policy,
    pub(crate) origin: Origin,
    /// Why they are not the usual ones, for people.
    pub(crate) because: Option<String>,
}

impl Conditions {
    /// Those that the arguments ask for, or that the engines need.
    ///
    /// # Errors
    /// A sentence that says why an engine cannot be measured like that, and what to type.
    pub(crate) fn of(args: ConditionArgs, processors: usize, engines: &[Engine]) -> Result<Self, String> {
        let shared = processors == 1;
        let spinning = engines.iter().find_map(|engine| match engine {
            Engine::User(engine) if shared && engine.receiver().spins() => Some(*engine),
            _ => None,
        });
        let origin = match (args.frames_from, spinning) {
            (FramesFrom::Timer, _) | (FramesFrom::Auto, Some(_)) => Origin::Timer,
            (FramesFrom::Auto | FramesFrom::Call, None) => Origin::Call,
            (FramesFrom::Call, Some(engine)) => {
                return Err(format!(
                    "{} Whatever the tester does after it has sent a frame would be measured as part of it: \
                     --frames-from timer has the kernel send, or measure it on a machine with more processors",
                    never_waits(engine)
                ));
            }
        };
        let policy = match (args.policy.0, spinning) {
            (Some(Policy::Idle), Some(engine)) => {
                return Err(format!(
                    "{} A tester at idle would never run: --policy fifo, or leave --policy out",
                    never_waits(engine)
                ));
            }
            (Some(policy), _) => policy,
            (None, _) if shared && origin == Origin::Call => Policy::Idle,
            (None, _) => TesterPolicy::FIFO,
        };
        let because = spinning.filter(|_| args.frames_from == FramesFrom::Auto).map(|engine| {
            format!(
                "{} So the frames of all gateways come from a timer (--frames-from timer); figures with frames from calls \
                 are no measure for these",
                never_waits(engine)
            )
        });
        Ok(Self { policy, origin, because })
    }
}

fn never_waits(engine: UserEngine) -> String {
    format!("The engine {engine} never waits, and shares the only processor with the tester.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUTO: ConditionArgs =
        ConditionArgs { frames_from: FramesFrom::Auto, policy: TesterPolicy(None), baselines: false };

    fn engines(names: &[&str]) -> Vec<Engine> {
        names.iter().map(|name| Engine::named(name).unwrap()).collect()
    }

    fn of(args: ConditionArgs, processors: usize, names: &[&str]) -> Result<(Policy, Origin), String> {
        Conditions::of(args, processors, &engines(names)).map(|conditions| (conditions.policy, conditions.origin))
    }

    #[test]
    fn one_engine_that_never_waits_decides_for_all() {
        let waiting = ["kernel", "auto", "read-write", "mmap-adaptive"];
        assert_eq!(of(AUTO, 1, &waiting), Ok((Policy::Idle, Origin::Call)));
        assert_eq!(of(AUTO, 1, &[]), Ok((Policy::Idle, Origin::Call)));
        for spinning in ["mmapbusy-write", "mmapbusy-adaptive", "readnb-write", "readnb-mmsg"] {
            assert_eq!(of(AUTO, 1, &["kernel", spinning]), Ok((TesterPolicy::FIFO, Origin::Timer)));
            // With a processor for each nothing has to be special.
            assert_eq!(of(AUTO, 2, &[spinning]), Ok((TesterPolicy::FIFO, Origin::Call)));
        }
        let all = Conditions::of(AUTO, 1, &engines(&["kernel", "mmapbusy-write"])).unwrap();
        assert!(all.because.unwrap().starts_with("The engine mmapbusy-write never waits"));
        assert_eq!(Conditions::of(AUTO, 1, &engines(&waiting)).unwrap().because, None);
    }

    #[test]
    fn what_would_measure_something_else_is_refused_with_what_to_type() {
        let call = ConditionArgs { frames_from: FramesFrom::Call, ..AUTO };
        assert!(of(call, 1, &["readnb-write"]).unwrap_err().contains("--frames-from timer"));
        assert_eq!(of(call, 4, &["readnb-write"]), Ok((TesterPolicy::FIFO, Origin::Call)));
        let idle = ConditionArgs { policy: TesterPolicy(Some(Policy::Idle)), ..AUTO };
        assert!(of(idle, 1, &["mmapbusy-write"]).unwrap_err().contains("--policy fifo"));
        assert_eq!(of(idle, 1, &["read-write"]), Ok((Policy::Idle, Origin::Call)));
    }

    #[test]
    fn what_is_asked_for_is_done() {
        let timer = ConditionArgs { frames_from: FramesFrom::Timer, ..AUTO };
        assert_eq!(of(timer, 1, &["kernel"]), Ok((TesterPolicy::FIFO, Origin::Timer)));
        let normal = ConditionArgs { policy: TesterPolicy(Some(Policy::Normal)), ..timer };
        assert_eq!(of(normal, 1, &["mmapbusy-write"]), Ok((Policy::Normal, Origin::Timer)));
    }
}
