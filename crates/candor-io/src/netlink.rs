//! The NETLINK_ROUTE socket.
