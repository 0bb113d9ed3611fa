//! Bytes and values of rtnetlink for CAN, and a small synchronous client.
#![forbid(unsafe_code)]
