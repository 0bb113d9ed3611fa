//! Sockets of other programs on an interface, which do not receive the frames of exclusive routes.
//!
//! # Source
//! Linux 7.0: [`can_rcvlist_proc_show()`](https://github.com/torvalds/linux/blob/v7.0/net/can/proc.c).

/// One file for each way to compare identifiers; error frames never pass a program.
const LISTS: [&str; 5] = ["all", "fil", "inv", "sff", "eff"];
/// Receivers that are jobs of can-gw.
const CANGW: &str = "gw";

/// Receivers on this interface, or on all, that are not jobs of can-gw. 0 if the kernel does not list them.
pub(super) fn count(interface: &str) -> usize {
    let read = |list| std::fs::read_to_string(format!("/proc/net/can/rcvlist_{list}")).unwrap_or_default();
    LISTS.into_iter().map(|list| count_in(&read(list), interface)).sum()
}

/// Lines are `device can_id can_mask function userdata matches ident`.
fn count_in(list: &str, interface: &str) -> usize {
    let is_one = |line: &&str| {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        words.len() == 7
            && [interface, "any"].contains(&words[0])
            && u32::from_str_radix(words[1], 16).is_ok()
            && words[6] != CANGW
    };
    list.lines().filter(is_one).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_of_an_interface_and_of_all_are_counted() {
        let list = "\nreceive list 'rx_all':\n\
            \x20 device   can_id   can_mask  function  userdata   matches  ident\n\
            \x20  can0     000   00000000  0000000000000000  0000000000000000         0  raw\n\
            \x20 device   can_id   can_mask  function  userdata   matches  ident\n\
            \x20  any      000   00000000  0000000000000000  0000000000000000        12  bcm\n\
            \x20  can0     123   000007ff  0000000000000000  0000000000000000         3  gw\n\
            \x20  can1     123   000007ff  0000000000000000  0000000000000000         3  raw\n\
            \x20  (can2: no entry)\n";
        assert_eq!((count_in(list, "can0"), count_in(list, "can2"), count_in("", "can0")), (2, 1, 0));
    }
}
