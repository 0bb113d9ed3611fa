//! The gateways: can-gw jobs in the kernel, and engines in user space.
#![forbid(unsafe_code)]
