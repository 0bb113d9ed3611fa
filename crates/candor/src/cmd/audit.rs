//! The audit line: who changed what crosses, with which files, and who signed them.
//!
//! With `--json` and `--log` it is an event. Otherwise it goes to the systemd journal, if there is one.

use std::fmt;

use candor_cli::gateway_file::Content;
use candor_config::changes::Changes;
use candor_config::signature::Signer;
use candor_engine::reconcile::{Difference, Line, LineKind};
use candor_io::signal::Sender;
use serde::Serialize;

/// A change of what crosses, or a reload that was refused.
#[derive(Debug)]
pub(super) struct Audit<'a> {
    pub(super) cause: Cause,
    /// Which mode was entered or left, and how.
    pub(super) mode: Option<String>,
    pub(super) who: Who,
    /// The signal that asked for it.
    pub(super) signal: Option<&'static str>,
    /// With the digest of each file that was read.
    pub(super) files: Vec<FileView<'a>>,
    pub(super) changes: Changes,
    /// Why the reload was refused, or why the gateway ended without a signal.
    pub(super) because: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) enum Cause {
    Apply,
    Down,
    End,
    Mode,
    Reload,
    Start,
}

/// Who asked for a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Who {
    uid: Option<u32>,
    pid: Option<u32>,
    /// The user who logged in, also after sudo.
    login_uid: Option<u32>,
}

impl Who {
    pub(super) fn this_process() -> Self {
        let (uid, pid) = (nix::unistd::getuid().as_raw(), std::process::id());
        Self { uid: Some(uid), pid: Some(pid), login_uid: login_uid(pid) }
    }

    /// The sender of a signal, if that is a process that this one can see.
    pub(super) fn sender(sender: Option<Sender>) -> Self {
        let Some(Sender { pid, uid }) = sender else { return Self::default() };
        let pid = Some(pid).filter(|pid| *pid != 0);
        Self { uid: Some(uid), pid, login_uid: pid.and_then(login_uid) }
    }
}

/// `None` if nobody logged in for this process, or if the kernel does not audit.
///
/// # Source
/// [`/proc/PID/loginuid`](https://man7.org/linux/man-pages/man5/proc_pid_loginuid.5.html), with `CONFIG_AUDIT`.
fn login_uid(pid: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/loginuid")).ok()?;
    text.trim_end().parse().ok().filter(|uid| *uid != u32::MAX)
}

/// A file that decides what crosses.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FileView<'a> {
    pub(super) file: &'a str,
    /// The digest of its content, as of `b2sum`; `null` if it was not read.
    pub(super) blake2b_hex: Option<String>,
    pub(super) signed: Option<SignedView<'a>>,
}

impl<'a> FileView<'a> {
    pub(super) fn unread(file: &'a str) -> Self {
        Self { file, blake2b_hex: None, signed: None }
    }

    pub(super) fn all(contents: &'a [Content]) -> Vec<Self> {
        let view = |content: &'a Content| Self {
            file: &content.file,
            blake2b_hex: Some(content.digest.to_string()),
            signed: content.signer.as_ref().map(SignedView::of),
        };
        contents.iter().map(view).collect()
    }
}

/// Who signed a file.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SignedView<'a> {
    /// As minisign writes it.
    pub(super) key_id: &'a str,
    /// The file of the public key.
    key_file: &'a str,
    /// The trusted comment.
    comment: &'a str,
}

impl<'a> SignedView<'a> {
    pub(super) fn of(signer: &'a Signer) -> Self {
        Self { key_id: &signer.key_id, key_file: &signer.key_file, comment: &signer.comment }
    }

    /// Of the gateway file, which is the first.
    pub(super) fn of_file(contents: &'a [Content]) -> Option<Self> {
        contents.first()?.signer.as_ref().map(Self::of)
    }
}

impl fmt::Display for SignedView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key_id, key_file, comment } = self;
        write!(f, "signed by {key_id} of {key_file}, \"{}\"", comment.replace('\t', " "))
    }
}

/// An audit line as JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AuditView<'a> {
    pub(super) cause: Cause,
    /// Which mode was entered or left, and how, such as `service entered by frame`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<&'a str>,
    /// The real user id of the process that asked; `null` for a signal of the kernel, such as Ctrl-C.
    pub(super) uid: Option<u32>,
    pub(super) pid: Option<u32>,
    /// The user who logged in, also after sudo; `null` if the kernel does not know.
    pub(super) login_uid: Option<u32>,
    signal: Option<&'static str>,
    /// The gateway file, then its databases.
    pub(super) files: Vec<FileView<'a>>,
    /// Names of routes and composed frames.
    pub(super) added: &'a [String],
    pub(super) removed: &'a [String],
    pub(super) changed: &'a [String],
    pub(super) because: Option<&'a str>,
}

impl Audit<'_> {
    pub(super) fn view(&self) -> AuditView<'_> {
        let Self { cause, mode, who: Who { uid, pid, login_uid }, signal, files, changes, because } = self;
        AuditView {
            cause: *cause,
            mode: mode.as_deref(),
            uid: *uid,
            pid: *pid,
            login_uid: *login_uid,
            signal: *signal,
            files: files.clone(),
            added: &changes.added,
            removed: &changes.removed,
            changed: &changes.changed,
            because: because.as_deref(),
        }
    }
}

impl fmt::Display for Audit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cause, mode, who, signal, files, changes, because } = self;
        write!(f, "audit: {}", cause.name())?;
        if let Some(mode) = mode {
            write!(f, " {mode}")?;
        }
        if let Some(uid) = who.uid {
            write!(f, " by uid {uid}")?;
        }
        if let Some(uid) = who.login_uid {
            write!(f, " (login uid {uid})")?;
        }
        if let Some(pid) = who.pid {
            write!(f, ", process {pid}")?;
        }
        if let Some(signal) = signal {
            write!(f, ", {signal}")?;
        }
        for (at, FileView { file, blake2b_hex, signed }) in files.iter().enumerate() {
            write!(f, "{} {file}", if at == 0 { ':' } else { ';' })?;
            if let Some(digest) = blake2b_hex {
                write!(f, ", BLAKE2b {digest}")?;
            }
            match signed {
                Some(signed) => write!(f, ", {signed}")?,
                None => f.write_str(", not verified")?,
            }
        }
        if let Some(because) = because {
            let what = if *cause == Cause::End { "not asked for" } else { "nothing was changed" };
            return write!(f, "; {what}: {}", because.trim_end());
        }
        for (what, names) in [("added", &changes.added), ("removed", &changes.removed), ("changed", &changes.changed)] {
            if !names.is_empty() {
                write!(f, "; {what}: {}", some(names))?;
            }
        }
        if *changes == Changes::default() { f.write_str("; no route changed") } else { Ok(()) }
    }
}

/// The first names, and the number of the others: a journal takes no line of any length.
pub(super) fn some(names: &[String]) -> String {
    let (first, others) = names.split_at(names.len().min(MOST_NAMES));
    let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    first.join(", ") + &more
}

const MOST_NAMES: usize = 100;

/// The changes of an apply, by route.
pub(super) fn changes(difference: &Difference) -> Changes {
    let mut kinds: Vec<(&str, [bool; 4])> = Vec::new();
    for Line { kind, route, .. } in &difference.lines {
        let kind = match kind {
            LineKind::Add | LineKind::Adopt => [true, false, false, false],
            LineKind::Prune | LineKind::Remove => [false, true, false, false],
            LineKind::Change => [false, false, true, false],
            LineKind::Keep | LineKind::Move { .. } => [false, false, false, true],
            LineKind::Foreign { .. } | LineKind::Other(_) => continue,
        };
        // A job of another program has no route.
        kinds.push((route.as_deref().unwrap_or("(of another program)"), kind));
    }
    candor_core::order::sort(&mut kinds);
    let mut changes = Changes::default();
    for of_route in kinds.chunk_by(|(one, _), (other, _)| one == other) {
        let is = |at: usize| of_route.iter().any(|(_, kind)| kind[at]);
        let list = match [0, 1, 2, 3].map(is) {
            [false, false, false, _] => continue,
            [true, false, false, false] => &mut changes.added,
            [false, true, false, false] => &mut changes.removed,
            // Also if some of its jobs stay.
            _ => &mut changes.changed,
        };
        list.extend(of_route.first().map(|(name, _)| (*name).to_owned()));
    }
    changes
}

impl Cause {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Down => "down",
            Self::End => "end",
            Self::Mode => "mode",
            Self::Reload => "reload",
            Self::Start => "start",
        }
    }
}

#[cfg(test)]
mod tests {
    use candor_config::placement::Side;
    use candor_config::plan::BusIndex;
    use candor_config::signature::blake2b;
    use candor_core::filter::Filter;
    use candor_core::frame::FrameFormat;
    use candor_core::job::Job;
    use candor_io::can::InterfaceIndex;
    use candor_netlink::cangw::CangwJob;

    use super::*;

    #[test]
    fn a_line_says_who_changed_what_with_which_file() {
        let signer = Signer {
            key_id: "E38DA969D13782EF".into(),
            key_file: "a.pub".into(),
            comment: "timestamp:1795792470\tfile:car.toml\thashed".into(),
        };
        let content = |file: &str, signer| Content { file: file.into(), digest: blake2b(file.as_bytes()), signer };
        let contents = [content("car.toml", Some(signer)), content("car.dbc", None)];
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let audit = |who, changes, because: Option<&str>| {
            let (cause, files, because) = (Cause::Reload, FileView::all(&contents), because.map(str::to_owned));
            Audit { cause, mode: None, who, signal: Some("SIGHUP"), files, changes, because }.to_string()
        };
        let root = Who { uid: Some(0), pid: Some(812), login_uid: Some(1000) };
        let changes = Changes { added: names(&["speed", "doors"]), removed: names(&["old"]), changed: Vec::new() };
        insta::assert_snapshot!(audit(root, changes, None));
        insta::assert_snapshot!(audit(Who::default(), Changes::default(), Some("no such file\n")));
        let many: Vec<String> = (0..150).map(|at| format!("r{at}")).collect();
        let line = audit(root, Changes { added: many, ..Changes::default() }, None);
        assert!(line.ends_with("r98, r99 and 50 more"), "{line}");
    }

    #[test]
    fn a_signal_of_the_kernel_is_of_nobody() {
        assert_eq!(Who::sender(None), Who::default());
        let outside = Who::sender(Some(Sender { pid: 0, uid: 1000 }));
        assert_eq!((outside.uid, outside.pid, outside.login_uid), (Some(1000), None, None));
    }

    #[test]
    fn a_route_is_changed_if_some_of_its_jobs_stay() {
        let job = Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter { id: 0x123, mask: 0x7FF });
        let job = CangwJob::new(&job, InterfaceIndex::new(1).unwrap(), InterfaceIndex::new(2).unwrap());
        let line = |route: Option<&str>, kind| {
            let (from, to) = ("can0".to_owned(), "can1".to_owned());
            Line { kind, route: route.map(str::to_owned), from, to, side: Side::Kernel, job }
        };
        let lines = vec![
            line(Some("new"), LineKind::Add),
            line(Some("partly"), LineKind::Keep),
            line(Some("partly"), LineKind::Add),
            line(Some("same"), LineKind::Keep),
            line(Some("moved"), LineKind::Move { adopted: false }),
            line(Some("old"), LineKind::Remove),
            line(None, LineKind::Foreign { duplicate: false }),
            line(None, LineKind::Prune),
        ];
        let found = changes(&Difference { lines, steps: 1, refusal: None });
        assert_eq!(found.added, ["new"]);
        assert_eq!(found.changed, ["partly"]);
        assert_eq!(found.removed, ["(of another program)", "old"]);
    }
}
