//! The kernel: release, preemption, CAN support, engines and clock.

use candor_config::engine::UserEngine;
use candor_config::placement::{NoPrograms, NotForBpf};
use candor_engine::Lack;
use candor_io::can::Support;
use candor_io::machine::Machine;

use super::check::{self, Check};
use super::needs::{Needs, Runs};

/// Abilities found by probing.
#[derive(Clone, Debug)]
pub(super) struct Probed {
    pub(super) can: Support,
    pub(super) cangw: Cangw,
    /// Why this process cannot attach programs that forward frames.
    pub(super) no_programs: Option<NoPrograms>,
    /// Why there are no queues in the order of arbitration.
    pub(super) no_queues: Option<String>,
    pub(super) engines: Vec<(UserEngine, Option<Lack>)>,
}

/// can-gw, as this process sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cangw {
    Missing,
    NotPermitted,
    Ready,
}

/// CAN modules that are listed.
const MODULES: [&str; 7] = ["can", "can_raw", "can_gw", "can_bcm", "vcan", "vxcan", "af_packet"];

pub(super) fn checks(machine: &Machine, probed: &Probed, needs: &Needs) -> Vec<Check> {
    let release = machine.text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut checks = vec![
        self::release(machine, &release),
        preemption(machine, needs),
        can(probed, needs),
        cangw(machine, probed, needs),
        programs(probed, needs),
        queues(probed, needs),
        modules(machine, &release, probed),
    ];
    checks.extend(engine(probed, needs));
    checks.push(clock(machine));
    checks.push(default_qdisc(machine));
    checks
}

fn release(machine: &Machine, release: &str) -> Check {
    match machine.kernel_version() {
        Some(version) if version < (5, 4) => {
            check::RELEASE.weak(format!("{release}: no FD frames in can-gw"), "boot Linux 5.4 or newer")
        }
        _ => check::RELEASE.ok(release),
    }
}

fn preemption(machine: &Machine, needs: &Needs) -> Check {
    let build = machine.text("/proc/sys/kernel/version").unwrap_or_default();
    let words: Vec<_> = build.split_whitespace().collect();
    let is_realtime = machine.number("/sys/kernel/realtime") == Some(1)
        || words.iter().any(|word| matches!(*word, "PREEMPT_RT" | "RT"));
    if is_realtime {
        return check::PREEMPTION.ok("PREEMPT_RT: almost all kernel code is preemptible");
    }
    // "none (voluntary) full": the model in brackets is active.
    let chosen = machine.text("/sys/kernel/debug/sched/preempt");
    let chosen = chosen.as_deref().and_then(|text| text.split_once('(')?.1.split_once(')')).map(|(chosen, _)| chosen);
    let command_line = machine.text("/proc/cmdline").unwrap_or_default();
    let chosen =
        chosen.or_else(|| command_line.split_whitespace().rev().find_map(|word| word.strip_prefix("preempt=")));
    let is_dynamic = words.contains(&"PREEMPT_DYNAMIC");
    let kind = match (chosen, is_dynamic, words.contains(&"PREEMPT")) {
        (Some(chosen), _, _) => chosen,
        (None, true, _) => "dynamic (model unknown without debugfs)",
        (None, false, true) => "full",
        (None, false, false) => "none or voluntary",
    };
    let is_enough = matches!(kind, "full" | "lazy") || needs.priority().is_none();
    if is_enough {
        return check::PREEMPTION.ok(kind);
    }
    let remedy = if is_dynamic {
        "boot with preempt=full; to bound the worst case, boot a PREEMPT_RT kernel (its median is higher)"
    } else {
        "to bound the worst case, boot a PREEMPT_RT kernel (its median is higher)"
    };
    check::PREEMPTION.weak(format!("{kind}: other kernel work may delay a frame"), remedy)
}

fn can(probed: &Probed, needs: &Needs) -> Check {
    if probed.can == Support::Raw {
        return check::CAN.ok("CAN_RAW sockets");
    }
    let found = if probed.can == Support::None { "no CAN sockets" } else { "CAN, but no CAN_RAW sockets" };
    let no_kernel_routes = matches!(needs.runs, Runs::Unknown | Runs::KernelIfThere) && probed.cangw != Cangw::Ready;
    if needs.engine.is_some() || no_kernel_routes {
        check::CAN.missing(found, "sudo modprobe can-raw; if that fails, candor-lab shell boots a kernel with CAN")
    } else {
        check::CAN.ok(format!("{found}; not needed for the kernel engine"))
    }
}

fn cangw(machine: &Machine, probed: &Probed, needs: &Needs) -> Check {
    const MAX_HOPS: &str = "/sys/module/can_gw/parameters/max_hops";
    let (found, remedy) = match probed.cangw {
        Cangw::Ready => {
            let most = machine.number(MAX_HOPS);
            let hops = i64::from(needs.hops);
            return match most {
                Some(most) if hops > most => check::CANGW.missing(
                    format!("max_hops is {most}, and a route has hop-limit = {hops}"),
                    format!("sudo modprobe -r can-gw && sudo modprobe can-gw max_hops={hops}"),
                ),
                Some(most) => check::CANGW.ok(format!("loaded, max_hops is {most}")),
                None => check::CANGW.ok("loaded"),
            };
        }
        Cangw::Missing => ("not loaded", "sudo modprobe can-gw"),
        Cangw::NotPermitted => (
            "not permitted: jobs need CAP_NET_ADMIN in the initial user namespace",
            "run candor as root: sudo candor run …",
        ),
    };
    match needs.runs {
        Runs::Kernel => check::CANGW.missing(found, remedy),
        Runs::KernelIfThere => check::CANGW.weak(format!("{found}: all routes run in user space"), remedy),
        Runs::Unknown => check::CANGW.weak(format!("{found}: no routes can run in the kernel"), remedy),
        Runs::User => check::CANGW.ok(format!("{found}; not needed in user space")),
        Runs::Bpf => check::CANGW.ok(format!("{found}; not needed for eBPF programs")),
    }
}

fn programs(probed: &Probed, needs: &Needs) -> Check {
    let Some(why) = probed.no_programs else { return check::PROGRAMS.ok("programs can forward frames") };
    let found = NotForBpf::None(why).to_string();
    if needs.runs != Runs::Bpf {
        return check::PROGRAMS.ok(format!("{found}; not needed"));
    }
    check::PROGRAMS.missing(found, why.remedy())
}

fn queues(probed: &Probed, needs: &Needs) -> Check {
    let Some(why) = &probed.no_queues else { return check::QUEUES.ok("queues can be in the order of arbitration") };
    if !needs.has_arbitration {
        return check::QUEUES.ok(format!("no queues in the order of arbitration ({why}); not needed"));
    }
    let found = format!("the bands take the place of queues in the order of arbitration ({why})");
    check::QUEUES.weak(found, "boot Linux 6.16 or newer with CONFIG_NET_SCH_BPF and CONFIG_DEBUG_INFO_BTF")
}

/// Lists the modules: most load on demand, but one that is not on disk cannot.
fn modules(machine: &Machine, release: &str, probed: &Probed) -> Check {
    let builtin = machine.text(&format!("/lib/modules/{release}/modules.builtin")).unwrap_or_default();
    let on_disk = machine.text(&format!("/lib/modules/{release}/modules.dep")).unwrap_or_default();
    let is_in = |list: &str, module: &str| {
        let file = format!("/{}.ko", module.replace('_', "-"));
        let other = format!("/{module}.ko");
        list.lines().any(|line| {
            let path = line.split(':').next().unwrap_or_default();
            path.contains(&file) || path.contains(&other)
        })
    };
    let state = |module: &&str| match module {
        module if machine.has(&format!("/sys/module/{module}")) || is_in(&builtin, module) => 0,
        module if is_in(&on_disk, module) => 1,
        _ => 2,
    };
    let of = |wanted| {
        let names: Vec<_> =
            MODULES.iter().filter(|module| state(module) == wanted).map(|name| name.replace('_', "-")).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let parts = [
        of(0).map(|names| format!("loaded or built in: {names}")),
        of(1).map(|names| format!("loadable: {names}")),
        of(2).map(|names| format!("not found: {names}")),
    ];
    let found = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    let no_raw = probed.can != Support::Raw && state(&"can_raw") == 2;
    let no_cangw = probed.cangw == Cangw::Missing && state(&"can_gw") == 2;
    if no_raw || no_cangw {
        let remedy = format!(
            "install this kernel's other modules (Ubuntu: linux-modules-extra-{release}), or boot a kernel with CONFIG_CAN_RAW and CONFIG_CAN_GW"
        );
        return check::MODULES.weak(found, remedy);
    }
    check::MODULES.ok(found)
}

fn engine(probed: &Probed, needs: &Needs) -> Option<Check> {
    let lack = |engine| probed.engines.iter().find(|(listed, _)| *listed == engine).and_then(|(_, lack)| *lack);
    let Some(engine) = needs.engine else {
        if needs.runs != Runs::Unknown {
            return None;
        }
        let runs = probed.engines.iter().filter(|(_, lack)| lack.is_none()).count();
        let found = format!("{runs} of the {} user-space engines run here", probed.engines.len());
        let first = probed.engines.iter().find_map(|(_, lack)| *lack);
        return Some(match first {
            None => check::ENGINE.ok(found),
            Some(lack) => {
                check::ENGINE.weak(format!("{found}: {lack}"), format!("{} (candor engines lists all)", lack.remedy()))
            }
        });
    };
    Some(match lack(engine) {
        None => check::ENGINE.ok(format!("{engine} runs here")),
        Some(lack) if needs.is_named => {
            check::ENGINE.missing(format!("{engine} does not run here: {lack}"), lack.remedy())
        }
        Some(lack) => check::ENGINE.weak(format!("falls back to {}: {lack}", UserEngine::PLAINEST), lack.remedy()),
    })
}

fn clock(machine: &Machine) -> Check {
    let source = machine.text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    match source.as_deref() {
        Some(source @ ("hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" | "pit")) => check::CLOCK.weak(
            format!("{source}: reading the time takes microseconds, and every frame is timestamped"),
            "find out why the kernel rejected the TSC: sudo dmesg | grep -i clocksource",
        ),
        Some(source) => check::CLOCK.ok(source),
        None => check::CLOCK.ok("unknown"),
    }
}

/// Since Linux 5.4 CAN interfaces get `pfifo_fast`, regardless of the default.
fn default_qdisc(machine: &Machine) -> Check {
    let Some(kind) = machine.text("/proc/sys/net/core/default_qdisc") else {
        return check::DEFAULT_QDISC.ok("unknown (in a network namespace)");
    };
    let is_plain = matches!(kind.as_str(), "pfifo_fast" | "pfifo");
    match machine.kernel_version() {
        Some(version) if version < (5, 4) && !is_plain => check::DEFAULT_QDISC.weak(
            format!("{kind}, which on this kernel applies to CAN too and may drop frames silently"),
            "sudo sysctl net.core.default_qdisc=pfifo_fast, then set the interfaces down and up",
        ),
        _ if is_plain => check::DEFAULT_QDISC.ok(kind),
        _ => check::DEFAULT_QDISC.ok(format!("{kind}, but CAN gets pfifo_fast since Linux 5.4")),
    }
}

#[cfg(test)]
mod tests {
    use candor_io::packet::Obstacle;

    use super::super::check::Verdict;
    use super::super::test_machines::{machine, needs};
    use super::*;

    fn all(lack: Option<Lack>) -> Probed {
        let engines = UserEngine::all().map(|engine| (engine, lack.filter(|_| engine.receiver().has_ring()))).collect();
        Probed { can: Support::Raw, cangw: Cangw::Ready, no_programs: None, no_queues: None, engines }
    }

    fn one(files: &[(&str, &str)], probed: &Probed, needs: &Needs, topic: check::Topic) -> Check {
        let (_root, machine) = machine(files);
        checks(&machine, probed, needs).into_iter().find(|check| check.topic == topic).unwrap()
    }

    #[test]
    fn preemption_matters_with_a_priority() {
        let (fifo, plain) = (needs("mmap-write", "sched = \"fifo:50\""), needs("mmap-write", ""));
        let version = |text| ("/proc/sys/kernel/version", text);
        let stock = version("#1 SMP PREEMPT_DYNAMIC Debian 6.1.0");
        let preempt = |files: &[_], needs: &Needs| {
            let check = one(files, &all(None), needs, check::PREEMPTION);
            (check.verdict, check.found, check.remedy.unwrap_or_default())
        };
        assert_eq!(preempt(&[stock], &plain).0, Verdict::Ok);
        let (verdict, _found, remedy) = preempt(&[stock], &fifo);
        assert!(verdict == Verdict::Weak && remedy.contains("preempt=full"), "{remedy}");
        let known = ("/sys/kernel/debug/sched/preempt", "none (voluntary) full");
        assert!(preempt(&[stock, known], &fifo).1.starts_with("voluntary"));
        assert_eq!(preempt(&[stock, ("/proc/cmdline", "quiet preempt=full")], &fifo).0, Verdict::Ok);
        let full = ("/sys/kernel/debug/sched/preempt", "none voluntary (full)");
        assert_eq!(preempt(&[stock, full], &fifo).0, Verdict::Ok);
        assert_eq!(preempt(&[version("#1 SMP PREEMPT_RT"), ("/sys/kernel/realtime", "1")], &fifo).0, Verdict::Ok);
        let (verdict, found, remedy) = preempt(&[version("#1 SMP")], &fifo);
        assert_eq!((verdict, remedy.contains("PREEMPT_RT")), (Verdict::Weak, true), "{found}");
    }

    #[test]
    fn can_gw_is_missing_only_for_the_kernel_engine() {
        let probed = |cangw| Probed { cangw, ..all(None) };
        let verdict = |cangw, needs: &Needs| one(&[], &probed(cangw), needs, check::CANGW).verdict;
        let (kernel, auto, user) = (needs("kernel", ""), needs("auto", ""), needs("read-write", ""));
        for (needs, missing) in [
            (&kernel, Verdict::Missing),
            (&auto, Verdict::Weak),
            (&user, Verdict::Ok),
            (&Needs::unknown(), Verdict::Weak),
        ] {
            assert_eq!(verdict(Cangw::Missing, needs), missing, "{needs:?}");
            assert_eq!(verdict(Cangw::NotPermitted, needs), missing, "{needs:?}");
            assert_eq!(verdict(Cangw::Ready, needs), Verdict::Ok, "{needs:?}");
        }
        let hops = ("/sys/module/can_gw/parameters/max_hops", "1");
        let check = one(&[hops], &probed(Cangw::Ready), &Needs { hops: 3, ..kernel }, check::CANGW);
        assert_eq!((check.verdict, check.remedy.unwrap().contains("max_hops=3")), (Verdict::Missing, true));
    }

    #[test]
    fn sockets_and_engines_are_compared_with_the_file() {
        let none = Probed { can: Support::None, cangw: Cangw::Missing, ..all(None) };
        let verdict = |probed: &Probed, needs: &Needs, topic| one(&[], probed, needs, topic).verdict;
        assert_eq!(verdict(&none, &Needs::unknown(), check::CAN), Verdict::Missing);
        assert_eq!(
            verdict(&Probed { cangw: Cangw::Ready, ..none.clone() }, &Needs::unknown(), check::CAN),
            Verdict::Ok
        );
        let remedy = one(&[], &none, &needs("read-write", ""), check::CAN).remedy.unwrap();
        assert!(remedy.contains("candor-lab shell"), "{remedy}");
        assert_eq!(verdict(&none, &needs("kernel", ""), check::CAN), Verdict::Ok);
        // Without can-gw all routes need sockets.
        assert_eq!(verdict(&none, &needs("auto", ""), check::CAN), Verdict::Missing);
        assert_eq!(
            verdict(&Probed { cangw: Cangw::Ready, ..none.clone() }, &needs("auto", ""), check::CAN),
            Verdict::Ok
        );
        let no_rings = all(Some(Lack::Packet(Obstacle::Privilege)));
        assert_eq!(verdict(&no_rings, &needs("mmap-write", ""), check::ENGINE), Verdict::Missing);
        assert_eq!(verdict(&no_rings, &needs("read-write", ""), check::ENGINE), Verdict::Ok);
        assert_eq!(verdict(&no_rings, &Needs::unknown(), check::ENGINE), Verdict::Weak);
        assert_eq!(verdict(&all(None), &Needs::unknown(), check::ENGINE), Verdict::Ok);
    }

    #[test]
    fn missing_queues_are_weak_if_the_file_wants_them() {
        let probed = Probed { no_queues: Some("no BTF".to_owned()), ..all(None) };
        let wants = Needs { has_arbitration: true, ..Needs::unknown() };
        let check = |probed: &Probed, needs: &Needs| one(&[], probed, needs, check::QUEUES);
        assert_eq!(check(&probed, &wants).verdict, Verdict::Weak);
        assert_eq!(
            check(&probed, &Needs::unknown()).found,
            "no queues in the order of arbitration (no BTF); not needed"
        );
        assert_eq!(check(&all(None), &wants).verdict, Verdict::Ok);
    }

    #[test]
    fn old_kernels_and_slow_clocks_are_weak() {
        let release = |text| ("/proc/sys/kernel/osrelease", text);
        let qdisc = ("/proc/sys/net/core/default_qdisc", "fq_codel");
        let clock = |text| ("/sys/devices/system/clocksource/clocksource0/current_clocksource", text);
        let verdict = |files: &[_], topic| one(files, &all(None), &Needs::unknown(), topic).verdict;
        assert_eq!(verdict(&[release("5.3.18")], check::RELEASE), Verdict::Weak);
        assert_eq!(verdict(&[release("6.1.0-56-amd64")], check::RELEASE), Verdict::Ok);
        assert_eq!(verdict(&[release("5.3.18"), qdisc], check::DEFAULT_QDISC), Verdict::Weak);
        assert_eq!(verdict(&[release("5.4.0"), qdisc], check::DEFAULT_QDISC), Verdict::Ok);
        assert_eq!(verdict(&[clock("hpet")], check::CLOCK), Verdict::Weak);
        assert_eq!(verdict(&[clock("tsc")], check::CLOCK), Verdict::Ok);
    }

    #[test]
    fn modules_are_listed_by_state() {
        let files = [
            ("/proc/sys/kernel/osrelease", "6.1.0"),
            ("/sys/module/can/refcnt", "1"),
            ("/lib/modules/6.1.0/modules.builtin", "kernel/net/packet/af_packet.ko\n"),
            ("/lib/modules/6.1.0/modules.dep", "kernel/net/can/can-gw.ko.xz: kernel/net/can/can.ko.xz\n"),
        ];
        let check = one(&files, &all(None), &Needs::unknown(), check::MODULES);
        assert_eq!(
            check.found,
            "loaded or built in: can, af-packet; loadable: can-gw; not found: can-raw, can-bcm, vcan, vxcan"
        );
        let no_raw = Probed { can: Support::None, ..all(None) };
        let verdicts =
            [all(None), no_raw].map(|probed| one(&files, &probed, &Needs::unknown(), check::MODULES).verdict);
        assert_eq!((check.verdict, verdicts), (Verdict::Ok, [Verdict::Ok, Verdict::Weak]));
    }
}
