//! Numbers of messages and of their attributes.
//!
//! # Source
//! `include/uapi/linux/rtnetlink.h`.

pub(super) const RTM_NEWQDISC: u16 = 36;
pub(super) const RTM_DELQDISC: u16 = 37;
pub(super) const RTM_GETQDISC: u16 = 38;
pub(super) const RTM_NEWTCLASS: u16 = 40;
pub(super) const RTM_DELTCLASS: u16 = 41;
pub(super) const RTM_GETTCLASS: u16 = 42;
pub(super) const RTM_NEWTFILTER: u16 = 44;
pub(super) const RTM_DELTFILTER: u16 = 45;
pub(super) const RTM_GETTFILTER: u16 = 46;
pub(super) const TCA_KIND: u16 = 1;
pub(super) const TCA_OPTIONS: u16 = 2;
pub(super) const TCA_STATS2: u16 = 7;
pub(super) const TCA_STAB: u16 = 8;
pub(super) const TCA_CHAIN: u16 = 11;
