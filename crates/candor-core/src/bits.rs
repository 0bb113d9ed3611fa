//! How many bits a frame has on the wire, stuff bits and all, and how long they last.
