//! Placement of routes on this machine.

use candor_config::engine::UserEngine;
use candor_config::placement::{Because, KernelAbilities, KernelOnly, Missing, Placement, Side, Unplaceable};
use candor_config::plan::{Engine, Plan};
use candor_core::job::Job;
use candor_netlink::client::Client;

use crate::abilities::{self, AbilitiesError};
use crate::bpf;
use crate::engines::{Lack, UserAbilities};
use candor_userspace::notice::Notice;
use candor_userspace::preflight::Interfaces;
use candor_userspace::running_kernel::running_kernel;
use candor_userspace::system_error::SystemError;

/// Routes that cannot run with the engine of the plan, or with any engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// The user-space engine that the plan names lacks a feature of can-gw.
    #[error("a user-space engine cannot {feature}, as route {route:?} requires; choose engine = \"kernel\"")]
    CannotDo {
        route: String,
        /// Completes "cannot".
        feature: String,
    },
    /// An eBPF program cannot run a route.
    #[error("engine bpf cannot run route {route:?}: {because}; choose engine = \"auto\"")]
    BpfCannot {
        route: String,
        /// A sentence.
        because: String,
    },
    /// The module can-gw is not loaded.
    #[error("the kernel module can-gw is not loaded; load it: sudo modprobe can-gw")]
    CangwMissing,
    /// The engine that the plan names does not run on this kernel or for this user.
    #[error("engine {engine} cannot run here: {lack}; try: {}\n  candor engines lists the engines that can", lack.remedy())]
    EngineLacks { engine: &'static str, lack: Lack },
    /// The hop limit of a route exceeds `max_hops` of the module.
    #[error(
        "route {route:?} has hop limit {limit}, but can-gw was loaded with max_hops={max_hops}; reload it: sudo modprobe -r can-gw \
         && sudo modprobe can-gw max_hops={limit}"
    )]
    HopLimit {
        route: String,
        /// `hop-limit` of the route.
        limit: u8,
        max_hops: u8,
    },
    /// can-gw lacks a feature, a user-space engine has it.
    #[error("can-gw cannot run route {route:?}, because {because}; choose engine = \"auto\" or \"read-write\"")]
    KernelCannot {
        route: String,
        /// Completes "because".
        because: String,
    },
    /// can-gw cannot be queried.
    #[error(transparent)]
    Abilities(#[from] AbilitiesError),
    /// The kernel engine needs a capability.
    #[error(
        "the kernel engine needs CAP_NET_ADMIN in the initial user namespace; run it as root (sudo candor run …), or use --engine \
         read-write, which needs no privileges"
    )]
    NotPermitted,
    /// Neither engine can run a route.
    #[error(
        "route {route:?} can run neither in the kernel, because {kernel}, nor in user space, which cannot {user}; {advice}"
    )]
    NowhereToRun {
        route: String,
        /// Completes "in the kernel, because".
        kernel: String,
        /// Completes "in user space, which cannot".
        user: String,
        /// A change of the file or a command.
        advice: String,
    },
    /// The kernel may write outside the frame (CVE-2026-31570).
    #[error(
        "route {route:?} has a CRC8 with positions from the end, which kernel {kernel} may compute outside the frame (fixed in \
         6.1.168, 6.6.131, 6.12.80, 6.18.21, 6.19.11, 7.0); use --engine read-write, or count the positions from the start"
    )]
    RelativeCrc8 { route: String, kernel: String },
    /// A system call that should not fail.
    #[error(transparent)]
    System(#[from] SystemError),
}

/// Determines the side of every route, and adjusts the jobs so that they mean the same on both.
pub(crate) fn place(
    plan: &Plan,
    jobs: &mut [Job],
    client: &mut Client,
    interfaces: &Interfaces,
    notify: &mut dyn FnMut(Notice),
) -> Result<Placement, PlacementError> {
    let kernel = match plan.engine() {
        Engine::User(_) => KernelAbilities::EVERY,
        Engine::Auto | Engine::Kernel => abilities::find(client, jobs, interfaces)?,
        Engine::Bpf => KernelAbilities::NEWEST,
    };
    let kernel = match plan.engine() {
        Engine::Auto | Engine::Bpf => KernelAbilities { no_programs: bpf::no_programs()?, ..kernel },
        Engine::Kernel | Engine::User(_) => kernel,
    };
    let placement = Placement::of(plan, kernel).or_else(|refused| Err(refusal(plan, refused, kernel)?))?;
    if plan.engine() == Engine::Auto {
        if let Some(missing) = kernel.missing {
            notify(Notice::WithoutKernel { missing });
        }
        if kernel.max_hops > 1 {
            one_hop(jobs, &placement);
        }
    }
    Ok(placement)
}

/// The engine for routes in user space: as named by the plan, or the best that runs here.
pub(crate) fn user_engine(plan: &Plan) -> Result<UserEngine, PlacementError> {
    match plan.engine() {
        Engine::Auto | Engine::Bpf | Engine::Kernel => {
            Ok(UserAbilities::find_for(|engine| engine == UserEngine::BEST)?.best())
        }
        Engine::User(engine) => match UserAbilities::find_for(|asked| asked == engine)?.lack(engine) {
            None => Ok(engine),
            Some(lack) => Err(PlacementError::EngineLacks { engine: engine.name(), lack }),
        },
    }
}

/// A user-space engine forwards a frame over one hop; the kernel would allow as many as its module parameter. So that a
/// file means the same on both sides, a route with more hops must say so, and only the kernel can run it.
pub(crate) fn one_hop(jobs: &mut [Job], placement: &Placement) {
    for job in jobs.iter_mut().filter(|job| placement.side(job.route) == Side::Kernel) {
        job.hop_limit.get_or_insert(1);
    }
}

/// The error for a route that cannot run.
pub(crate) fn refusal(
    plan: &Plan,
    refused: Unplaceable,
    kernel: KernelAbilities,
) -> Result<PlacementError, PlacementError> {
    let route = plan.route(refused.route);
    let name = route.name.clone();
    let limit = route.hop_limit.unwrap_or_default();
    Ok(match (refused.user, refused.kernel) {
        (None, Because::Missing(Missing::Module)) => PlacementError::CangwMissing,
        (None, Because::Missing(Missing::Privilege)) => PlacementError::NotPermitted,
        (None, Because::HopLimit { max_hops }) => PlacementError::HopLimit { route: name, limit, max_hops },
        (None, Because::RelativeCrc8) => {
            PlacementError::RelativeCrc8 { route: name, kernel: running_kernel()?.to_string() }
        }
        (None, Because::Bpf(because)) => PlacementError::BpfCannot { route: name, because: because.in_words(plan) },
        (None, because) => PlacementError::KernelCannot { route: name, because: because.in_words(plan) },
        (Some(what), Because::Chosen) => PlacementError::CannotDo { route: name, feature: what.in_words(plan) },
        (Some(user), because) => PlacementError::NowhereToRun {
            route: name,
            kernel: because.in_words(plan),
            user: user.in_words(plan),
            advice: advice(because, user, limit, kernel),
        },
    })
}

/// Remedy for a route that neither side can run.
fn advice(because: Because, user: KernelOnly, limit: u8, kernel: KernelAbilities) -> String {
    let KernelAbilities { max_hops, .. } = kernel;
    match because {
        Because::Missing(Missing::Module) => "type: sudo modprobe can-gw".into(),
        Because::Missing(Missing::Privilege) => "run it as root (sudo candor run …)".into(),
        Because::HopLimit { .. } => {
            format!(
                "type: sudo modprobe -r can-gw && sudo modprobe can-gw max_hops={limit}, or allow {max_hops} at most"
            )
        }
        Because::FdJobs => "take classic frames only (frames = \"classic\"), or boot a newer kernel".into(),
        Because::RelativeCrc8 => "count the positions of the CRC8 from the start of the frame".into(),
        Because::Bpf(_)
        | Because::Chosen
        | Because::Meets(_)
        | Because::Payload
        | Because::Signals
        | Because::Checked
        | Because::Protected
        | Because::Xl
        | Because::MaxAge
        | Because::Timing
        | Because::WhenFull
        | Because::SendAs(_)
        | Because::Walks(_) => match user {
            KernelOnly::Timestamp => "remove `keep-timestamp`".into(),
            KernelOnly::Xl => "boot Debian's Linux 7.0 or newer, and run it as root".into(),
            KernelOnly::Hops(_) => "write hop-limit = 1".into(),
            KernelOnly::EchoDiffers(_) => "give all routes to that bus the same `echo`".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use candor_config::config;

    use super::*;

    fn plan(routes: &str) -> Plan {
        let buses = "[bus.a]\ninterface = \"a\"\n[bus.b]\ninterface = \"b\"\n[bus.c]\ninterface = \"c\"\n";
        let route = |(at, line): (usize, &str)| {
            let mut words = line.splitn(3, ' ');
            let (from, to, keys) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap_or_default());
            format!("[[route]]\nname = \"r{at}\"\nfrom = \"{from}\"\nto = \"{to}\"\nframes = \"classic\"\n{keys}\n")
        };
        let routes: String = routes.lines().enumerate().map(route).collect();
        config::load(format!("engine = \"auto\"\n{buses}{routes}").as_bytes()).unwrap().plan
    }

    #[test]
    fn only_a_route_that_says_so_makes_several_hops_in_the_kernel() {
        let plan = plan("a b\na c hop-limit = 2\na b payload = \"01\"");
        let placement = Placement::of(&plan, KernelAbilities::EVERY).unwrap();
        let mut jobs = candor_config::lower(&plan);
        one_hop(&mut jobs, &placement);
        assert_eq!(jobs.iter().map(|job| job.hop_limit).collect::<Vec<_>>(), [Some(1), Some(2), None]);
    }

    #[test]
    fn a_route_that_no_side_can_run_is_told_both_reasons_and_what_to_do() {
        let plan = plan("a b\na c hop-limit = 3");
        for (kernel, words) in [
            (KernelAbilities { max_hops: 2, ..KernelAbilities::EVERY }, ["max_hops=2", "max_hops=3"]),
            (
                KernelAbilities { missing: Some(Missing::Module), ..KernelAbilities::EVERY },
                ["not loaded", "sudo modprobe can-gw"],
            ),
            (
                KernelAbilities { missing: Some(Missing::Privilege), ..KernelAbilities::EVERY },
                ["CAP_NET_ADMIN", "run it as root"],
            ),
        ] {
            let refused = Placement::of(&plan, kernel).unwrap_err();
            let text = refusal(&plan, refused, kernel).unwrap().to_string();
            assert!(text.starts_with("route \"r1\" can run neither in the kernel, because"), "{text}");
            assert!(text.contains("nor in user space, which cannot count hops"), "{text}");
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        }
    }
}
