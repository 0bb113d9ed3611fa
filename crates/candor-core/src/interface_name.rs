//! Names of network interfaces.

/// Longest name of an interface, `IFNAMSIZ` without the final NUL.
pub const MAX_INTERFACE_NAME_BYTES: usize = 15;

/// Why a text is no name of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterfaceNameError {
    /// It has a character that no name may have.
    #[error("An interface name cannot contain {0:?}")]
    Character(char),
    /// There is none.
    #[error("The interface name is empty")]
    Empty,
    /// It is `.` or `..`, which would be folders of `/sys/class/net`.
    #[error("An interface name cannot be . or ..")]
    Folder,
    /// It has so many bytes.
    #[error("An interface name has at most {MAX_INTERFACE_NAME_BYTES} bytes, this one has {0}")]
    TooLong(usize),
}

/// Checks the name of a network interface.
///
/// # Errors
/// What is wrong with the name.
///
/// # Source
/// [`dev_valid_name()`](https://github.com/gregkh/linux/blob/v6.1.192/net/core/dev.c#L1049) in Linux 6.1.
pub fn check(name: &str) -> Result<(), InterfaceNameError> {
    let is_wrong = |c: &char| matches!(c, '/' | ':') || c.is_whitespace() || c.is_control();
    match name {
        "" => Err(InterfaceNameError::Empty),
        _ if name.len() > MAX_INTERFACE_NAME_BYTES => Err(InterfaceNameError::TooLong(name.len())),
        "." | ".." => Err(InterfaceNameError::Folder),
        _ => name.chars().find(is_wrong).map_or(Ok(()), |wrong| Err(InterfaceNameError::Character(wrong))),
    }
}
