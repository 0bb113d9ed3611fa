//! Unix sockets that a command serves.

use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Binds a socket; one that a killed candor left behind is replaced.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            // A file refuses connections, too.
            let is_socket = std::fs::symlink_metadata(path)?.file_type().is_socket();
            let refuses =
                || UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            if !is_socket || !refuses() {
                return Err(error);
            }
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }
}
