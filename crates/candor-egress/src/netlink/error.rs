//! Errors of traffic control.

use candor_io::bpf::LoadError;
use candor_io::errno::{ENOSYS, EPERM};
use candor_netlink::client::{Errno, NetlinkError};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("A burst may last up to 274 seconds at its rate; this one is longer: make it smaller")]
    BurstTooLong,
    #[error("A canid match has 1 to 500 rules, not {count}: spread them over several matches joined with `or`")]
    CanidRules { count: usize },
    #[error("A flow filter has no class of its own: it reckons one from its keys, beginning with `base`")]
    ClassOfFlow,
    #[error("A delay or jitter is longer than 2^63 nanoseconds")]
    Delay,
    #[error("`and` and `or` join two matches or more, not {count}")]
    Group { count: usize },
    #[error("{kind:?} cannot be asked for here")]
    Kind { kind: String },
    #[error("A u32 filter has up to 255 keys, not {count}")]
    Keys { count: usize },
    #[error("The word that chooses the slot of a u32 table is within 32767 bytes, not at {offset}")]
    LinkOffset { offset: u16 },
    #[error("Matches are nested more than {MAX_EMATCH_DEPTH} deep, at which the kernel gives up")]
    MatchDepth,
    #[error("An nbyte match has up to 4095 bytes, not {len}")]
    NbyteLength { len: usize },
    #[error("There is no interface {name}")]
    NoInterface { name: String },
    #[error("A police action needs a rate in bytes or in frames")]
    NoLimit,
    /// The old form of `fw`, in which the mark is the class: the kernel accepts it, and then answers every dump of the filters
    /// there with `EMSGSIZE`.
    #[error("A fw filter without a mark and a class cannot be listed by the kernel: name both")]
    OldFw,
    #[error("A filter of unknown kind has its class and actions in its own bytes, not beside them")]
    OtherDecides,
    #[error("A filter has a preference from 1 to 65535")]
    Preference,
    #[error("meta(protocol) can only be compared with eq: the kernel keeps it big-endian")]
    ProtocolOrder,
    #[error("A hash table of u32 decides nothing: keys, class, actions and links belong to its nodes")]
    TableDecides,
    #[error("The table of a u32 filter is its number and slot, in bits 12 to 31; {table:#010x} has more")]
    TableNumber { table: u32 },
    #[error("{len} bytes do not fit one attribute of netlink (65531): make several smaller filters of it")]
    TooLong { len: usize },
    #[error("A filter has up to 32 actions, not {count}")]
    TooManyActions { count: usize },
    #[error("A rate of 0 lets nothing through: leave the rate out, or drop the frames")]
    ZeroRate,
}

/// `CONFIG_NET_EMATCH_STACK` of common kernels.
pub(super) const MAX_EMATCH_DEPTH: usize = 32;

#[derive(Debug, thiserror::Error)]
pub enum TcError {
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// A program that the kernel rejected.
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
    #[must_use]
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Encode(_) | Self::Program(_) => None,
            Self::Netlink(error) => error.errno(),
        }
    }
}
