//! Errors of traffic control.

use candor_bpf::queue::CompileError;
use candor_io::bpf::LoadError;
use candor_io::errno::{ENOSYS, EPERM};
use candor_netlink::client::{Errno, NetlinkError};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("A burst must last less than 274 seconds at its rate: make it smaller")]
    BurstTooLong,
    #[error("A canid match has 1 to 500 rules, not {count}: spread them over several matches joined with `or`")]
    CanidRules { count: usize },
    #[error("A flow filter cannot have a class: it computes the class from its keys, starting at `base`")]
    ClassOfFlow,
    #[error("A delay or jitter is longer than 2^63 nanoseconds")]
    Delay,
    #[error("`and` and `or` join two matches or more, not {count}")]
    Group { count: usize },
    #[error("{kind:?} cannot be created")]
    Kind { kind: String },
    #[error("A u32 filter has up to 255 keys, not {count}")]
    Keys { count: usize },
    #[error("The hash key of a u32 table must be within 32767 bytes, not at {offset}")]
    LinkOffset { offset: u16 },
    #[error("Matches are nested more than {MAX_EMATCH_DEPTH} levels deep, which the kernel does not support")]
    MatchDepth,
    #[error("An nbyte match has up to 4095 bytes, not {len}")]
    NbyteLength { len: usize },
    #[error("Interface {name} not found")]
    NoInterface { name: String },
    #[error("A police action needs a rate in bytes or in frames")]
    NoLimit,
    /// The old form of `fw`, in which the mark is the class: the kernel accepts it, and then answers every dump of the filters
    /// there with `EMSGSIZE`.
    #[error("The kernel cannot list a fw filter that has neither mark nor class: set both")]
    OldFw,
    #[error("A filter of unknown kind cannot have a separate class or actions: its bytes contain them")]
    OtherDecides,
    #[error("The preference of a filter must be 1 to 65535")]
    Preference,
    #[error("meta(protocol) can only be compared with eq: the kernel keeps it big-endian")]
    ProtocolOrder,
    #[error("A u32 hash table has no keys, class, actions or links: put them into its nodes")]
    TableDecides,
    #[error("The table of a u32 filter is its number and slot, in bits 12 to 31; {table:#010x} has other bits set")]
    TableNumber { table: u32 },
    #[error("{len} bytes exceed a netlink attribute (65531 bytes): split the filter")]
    TooLong { len: usize },
    #[error("A filter has up to 32 actions, not {count}")]
    TooManyActions { count: usize },
    #[error("A rate of 0 passes no frame: remove the rate, or drop the frames")]
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
    /// The kernel would take it as a filter of received frames.
    #[error(
        "The qdisc ingress of the eBPF programs there has no place for filters of sent frames: stop candor (sudo candor down) and \
         start it with this file"
    )]
    OnlyReceived,
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Queue(#[from] QueueError),
}

/// Why there is no queue in the order of arbitration.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error("The kernel rejected the program {program} of a queue in the order of arbitration{}", privileges(&.source.errno))]
    Program {
        /// Its member of `struct Qdisc_ops`.
        program: &'static str,
        source: LoadError,
    },
    #[error("Cannot {what} for a queue in the order of arbitration{}", privileges(source))]
    System { what: &'static str, source: std::io::Error },
    #[error(
        "This kernel has no queues in BPF ({0}): they need Linux 6.16 with CONFIG_NET_SCH_BPF and CONFIG_DEBUG_INFO_BTF"
    )]
    Unsupported(String),
}

fn privileges(source: &std::io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(EPERM) => {
            ", which needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN outside of user namespaces; run it as root"
        }
        _ => "",
    }
}

/// A program that the kernel rejected.
#[derive(Debug, thiserror::Error)]
#[error("{}", advice(.0))]
pub struct ProgramError(#[from] LoadError);

fn advice(refused: &LoadError) -> String {
    match refused.errno.raw_os_error() {
        Some(EPERM) => "A filter by control group is a BPF program, which needs CAP_BPF and CAP_NET_ADMIN outside of \
                             user namespaces (before Linux 5.8 CAP_SYS_ADMIN); run it as root"
            .to_owned(),
        Some(ENOSYS) => "This kernel has no BPF (CONFIG_BPF_SYSCALL), which filters by control group need".to_owned(),
        _ if refused.to_string().contains("unknown func") => {
            "BPF programs of this kernel cannot read the control group of a frame: it is \
                                                     older than Linux 4.19, or has no CONFIG_CGROUP_BPF"
                .to_owned()
        }
        _ => "The kernel rejected the BPF program that filters by control group".to_owned(),
    }
}

impl TcError {
    #[must_use]
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Encode(_) | Self::OnlyReceived | Self::Program(_) | Self::Queue(_) => None,
            Self::Netlink(error) => error.errno(),
        }
    }
}
