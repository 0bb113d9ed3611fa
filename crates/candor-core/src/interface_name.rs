//! Names of network interfaces.

/// Longest name of an interface, `IFNAMSIZ` without the final NUL.
pub const MAX_INTERFACE_NAME_BYTES: usize = 15;

/// Why a text is no name of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterfaceNameError {
    /// It has a character that no name may have.
    #[error("The name of an interface cannot contain {0:?}")]
    Character(char),
    /// There is none.
    #[error("The interface has no name")]
    Empty,
    /// It is `.` or `..`, which would be folders of `/sys/class/net`.
    #[error("No interface can be called . or ..")]
    Folder,
    /// It has so many bytes.
    #[error("The name of an interface has at most {MAX_INTERFACE_NAME_BYTES} bytes, this one has {0}")]
    TooLong(usize),
}

/// Whether an interface may be called so.
///
/// # Errors
/// What is wrong with the name.
///
/// # Source
/// `dev_valid_name()` in `net/core/dev.c`.
pub fn check(name: &str) -> Result<(), InterfaceNameError> {
    let is_wrong = |c: &char| matches!(c, '/' | ':') || c.is_whitespace() || c.is_control();
    match name {
        "" => Err(InterfaceNameError::Empty),
        _ if name.len() > MAX_INTERFACE_NAME_BYTES => Err(InterfaceNameError::TooLong(name.len())),
        "." | ".." => Err(InterfaceNameError::Folder),
        _ => name.chars().find(is_wrong).map_or(Ok(()), |wrong| Err(InterfaceNameError::Character(wrong))),
    }
}
