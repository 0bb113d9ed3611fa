//! CAN_RAW sockets.
