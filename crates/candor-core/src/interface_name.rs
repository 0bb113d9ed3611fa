//! Names of network interfaces.

/// Maximum length of an interface name: `IFNAMSIZ` without the final NUL.
pub const MAX_INTERFACE_NAME_BYTES: usize = 15;

/// An error in an interface name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterfaceNameError {
    /// A slash, a colon, white space or a control character.
    #[error("An interface name cannot contain {0:?}")]
    Character(char),
    /// The name is empty.
    #[error("The interface name is empty")]
    Empty,
    /// `.` or `..`, which would be directories in `/sys/class/net`.
    #[error("An interface name cannot be . or ..")]
    Folder,
    /// More than the maximum length, with the length in bytes.
    #[error("An interface name has at most {MAX_INTERFACE_NAME_BYTES} bytes, this one has {0}")]
    TooLong(usize),
}

/// Checks the name of a network interface.
///
/// # Errors
/// [`InterfaceNameError`].
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
