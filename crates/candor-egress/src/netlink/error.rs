//! Why traffic control did not become what was asked for.

use candor_io::bpf::LoadError;
use candor_io::errno::{ENOSYS, EPERM};
use candor_netlink::client::{Errno, NetlinkError};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A burst lasts longer at its rate than 32 bits of 64 ns.
    #[error("A burst may last up to 274 seconds at its rate; this one is longer: make it smaller")]
    BurstTooLong,
    /// A list of identifiers is empty or longer than the kernel takes.
    #[error("A canid match has 1 to 500 rules, not {count}: spread them over several matches joined with `or`")]
    CanidRules { count: usize },
    /// `flow` reckons its class.
    #[error("A flow filter has no class of its own: it reckons one from its keys, beginning with `base`")]
    ClassOfFlow,
    /// A time is too long for the kernel.
    #[error("A delay or jitter is longer than 2^63 nanoseconds")]
    Delay,
    /// A group of matches has fewer than two members.
    #[error("`and` and `or` join two matches or more, not {count}")]
    Group { count: usize },
    /// A name of a kind that the kernel cannot have, or one that is not for this place.
    #[error("{kind:?} cannot be asked for here")]
    Kind { kind: String },
    /// A u32 filter has more keys than a byte can count.
    #[error("A u32 filter has up to 255 keys, not {count}")]
    Keys { count: usize },
    /// The place of the word that chooses a slot is out of reach.
    #[error("The word that chooses the slot of a u32 table is within 32767 bytes, not at {offset}")]
    LinkOffset { offset: u16 },
    /// Matches are nested too deep for the kernel.
    #[error("Matches are nested more than {MAX_EMATCH_DEPTH} deep, at which the kernel gives up")]
    MatchDepth,
    /// An `nbyte` match is too long.
    #[error("An nbyte match has up to 4095 bytes, not {len}")]
    NbyteLength { len: usize },
    /// A filter to be deleted has no number, which would delete all of its preference.
    #[error("A filter without a handle cannot be deleted alone: read it back from the kernel first")]
    NoHandle,
    #[error("There is no interface {name}")]
    NoInterface { name: String },
    /// A `police` action has no limit.
    #[error("A police action needs a rate in bytes or in frames")]
    NoLimit,
    /// The old way of `fw`, in which the mark is the class: the kernel takes it, and from then on answers `EMSGSIZE` to
    /// everybody who wants to list the filters there.
    #[error("A fw filter without a mark and a class cannot be listed by the kernel: name both")]
    OldFw,
    /// What was read as raw bytes has its class and its actions in them.
    #[error("A filter of unknown kind has its class and actions in its own bytes, not beside them")]
    OtherDecides,
    #[error("A filter has a preference from 1 to 65535")]
    Preference,
    /// `meta(protocol …)` with gt or lt.
    #[error("meta(protocol) can only be compared with eq: the kernel keeps it big-endian")]
    ProtocolOrder,
    /// A u32 hash table with keys, a class or actions.
    #[error("A hash table of u32 decides nothing: keys, class, actions and links belong to its nodes")]
    TableDecides,
    /// The number of a u32 table has bits that belong to a node.
    #[error("The table of a u32 filter is its number and slot, in bits 12 to 31; {table:#010x} has more")]
    TableNumber { table: u32 },
    #[error("{len} bytes do not fit one attribute of netlink (65531): make several smaller filters of it")]
    TooLong { len: usize },
    #[error("A filter has up to 32 actions, not {count}")]
    TooManyActions { count: usize },
    #[error("A rate of 0 lets nothing through: leave the rate out, or drop the frames")]
    ZeroRate,
}

/// How many containers the kernel follows into each other (`CONFIG_NET_EMATCH_STACK` of common kernels).
pub(super) const MAX_EMATCH_DEPTH: usize = 32;

#[derive(Debug, thiserror::Error)]
pub enum TcError {
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The kernel refused it, or could not be asked.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// The kernel did not take the program of a filter, and nothing was asked of traffic control.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// A program that the kernel did not take.
#[derive(Debug, thiserror::Error)]
#[error("{}", advice(.source.raw_os_error(), .log))]
pub struct ProgramError {
    source: std::io::Error,
    log: String,
}

impl From<LoadError> for ProgramError {
    fn from(LoadError { source, log }: LoadError) -> Self {
        Self { source, log }
    }
}

fn advice(errno: Option<i32>, log: &str) -> String {
    // What the verifier says last is why.
    let why = log.lines().rev().find(|line| !line.starts_with("processed ")).unwrap_or_default();
    match (errno, why) {
        (Some(EPERM), _) => {
            "A filter by control group is a program of BPF, which wants CAP_BPF and CAP_NET_ADMIN outside of \
                             user namespaces (before Linux 5.8 CAP_SYS_ADMIN); run it as root"
                .to_owned()
        }
        (Some(ENOSYS), _) => {
            "This kernel has no programs of BPF (CONFIG_BPF_SYSCALL), which filters by control group are".to_owned()
        }
        (_, why) if why.contains("unknown func") => {
            "This kernel's programs cannot ask for the control group of a frame: it is \
                                                     older than Linux 4.19, or has no CONFIG_CGROUP_BPF"
                .to_owned()
        }
        (_, "") => "The kernel did not take the program that filters by control group".to_owned(),
        (_, why) => format!("The kernel did not take the program that filters by control group ({why})"),
    }
}

impl TcError {
    /// The errno with which the kernel refused the request, if it did.
    #[must_use]
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Encode(_) | Self::Program(_) => None,
            Self::Netlink(error) => error.errno(),
        }
    }
}
