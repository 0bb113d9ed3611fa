//! Offsets and functions of one kernel.

use crate::btf::{BtfError, Kind, TypeId, Types};

/// What programs and their loader need from the type information of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// `struct sk_buff`.
    pub(super) buffer: BufferLayout,
    /// `struct Qdisc`.
    pub(super) queue: QueueLayout,
    /// From `struct Qdisc` to the index of the interface and the number of its network namespace: offsets to follow.
    pub(super) interface: InterfaceLayout,
    pub(super) functions: Functions,
    /// A structure that starts with 32 bits, to read a frame as.
    pub(super) word: TypeId,
    /// `struct Qdisc_ops`.
    pub operations: TypeId,
    /// The value of its map, `struct bpf_struct_ops_Qdisc_ops`.
    pub value: TypeId,
    /// Size of the value in bytes.
    pub value_bytes: usize,
    /// Offset of `struct Qdisc_ops` in the value.
    pub operations_offset: usize,
    /// Offset of the kind's name in `struct Qdisc_ops`.
    pub name_offset: usize,
    /// Position and offset in `struct Qdisc_ops`, in the order of [`Operation::ALL`](super::Operation::ALL).
    pub members: [Member; 5],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub position: usize,
    pub offset: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BufferLayout {
    pub(super) data: i16,
    pub(super) protocol: i16,
    pub(super) socket: i16,
    /// Length as queueing disciplines count it.
    pub(super) length: i16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueLayout {
    pub(super) limit: i16,
    pub(super) waiting: i16,
    pub(super) backlog: i16,
    pub(super) drops: i16,
    pub(super) overlimits: i16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InterfaceLayout {
    pub(super) transmit_queue: i16,
    pub(super) interface: i16,
    pub(super) index: i16,
    pub(super) namespace: i16,
    pub(super) number: i16,
}

/// Functions of the kernel, as their type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Functions {
    pub(super) cast: i32,
    pub(super) count: i32,
    pub(super) drop: i32,
    pub(super) free: i32,
}

impl Layout {
    /// # Errors
    /// [`BtfError::Missing`] names what the kernel lacks, for example `bpf_struct_ops_Qdisc_ops` without
    /// `CONFIG_NET_SCH_BPF`.
    pub fn read(kernel: &Types<'_>) -> Result<Self, BtfError> {
        const OPERATIONS: &str = "Qdisc_ops";
        const VALUE: &str = "bpf_struct_ops_Qdisc_ops";
        // First, since its name says most.
        let value = kernel.find(Kind::Struct, VALUE)?;
        let offset = |structure: &str, path: &str| {
            let offset = kernel.offset(structure, path)?;
            i16::try_from(offset).map_err(|_too_far| BtfError::Missing(format!("{structure}.{path} in reach")))
        };
        let function = |name: &str| {
            let id = kernel.find(Kind::Function, name)?.0;
            i32::try_from(id).map_err(|_too_many| BtfError::Missing(name.to_owned()))
        };
        let member = |operation: super::Operation| {
            let name = operation.name();
            let (position, offset) = (kernel.position(OPERATIONS, name)?, kernel.offset(OPERATIONS, name)?);
            Ok(Member { position, offset })
        };
        let [dequeue, destroy, enqueue, init, reset] = super::Operation::ALL.map(member);
        Ok(Self {
            buffer: BufferLayout {
                data: offset("sk_buff", "data")?,
                protocol: offset("sk_buff", "protocol")?,
                socket: offset("sk_buff", "sk")?,
                length: offset("sk_buff", "cb")?.saturating_add(offset("qdisc_skb_cb", "pkt_len")?),
            },
            queue: QueueLayout {
                limit: offset("Qdisc", "limit")?,
                waiting: offset("Qdisc", "q.qlen")?,
                backlog: offset("Qdisc", "qstats.backlog")?,
                drops: offset("Qdisc", "qstats.drops")?,
                overlimits: offset("Qdisc", "qstats.overlimits")?,
            },
            interface: InterfaceLayout {
                transmit_queue: offset("Qdisc", "dev_queue")?,
                interface: offset("netdev_queue", "dev")?,
                index: offset("net_device", "ifindex")?,
                namespace: offset("net_device", "nd_net.net")?,
                number: offset("net", "ns.inum")?,
            },
            functions: Functions {
                cast: function("bpf_rdonly_cast")?,
                count: function("bpf_qdisc_bstats_update")?,
                drop: function("bpf_qdisc_skb_drop")?,
                free: function("bpf_kfree_skb")?,
            },
            word: kernel.find(Kind::Struct, "bpf_spin_lock")?,
            operations: kernel.find(Kind::Struct, OPERATIONS)?,
            value,
            value_bytes: kernel.size(VALUE)?,
            operations_offset: kernel.offset(VALUE, "data")?,
            name_offset: kernel.offset(OPERATIONS, "id")?,
            members: [dequeue?, destroy?, enqueue?, init?, reset?],
        })
    }
}
