//! The slow and obvious gateway that everything faster is compared with.
