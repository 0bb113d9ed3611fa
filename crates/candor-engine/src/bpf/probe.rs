//! Whether this process can attach programs that forward frames.

use std::io::ErrorKind;

use candor_bpf::gateway::idle;
use candor_config::placement::NoPrograms;
use candor_io::bpf;

use candor_userspace::running_kernel::running_kernel;
use candor_userspace::system_error::SystemError;

/// `None` if this process can attach programs that forward frames, as far as that shows before the first one.
///
/// # Errors
/// [`SystemError`] if `/proc` does not give the version of the kernel.
pub fn no_programs() -> Result<Option<NoPrograms>, SystemError> {
    if !running_kernel()?.redirects_frames() {
        return Ok(Some(NoPrograms::Old));
    }
    let program = idle().program.with_maps(|_no_map| 0);
    Ok(match bpf::load_classifier(c"candor_probe", &program) {
        Ok(_) => None,
        Err(error) if error.errno.kind() == ErrorKind::PermissionDenied => Some(NoPrograms::Privilege),
        Err(_) => Some(NoPrograms::Missing),
    })
}
