//! Giving the run directory to another user, before a process of root becomes one of that user.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown};
use std::path::Path;

use super::failure::{RunDirError, failed};
use super::folder::{self, DEFAULT_PATH, PRIVATE_FOLDER};
use crate::error::GatewayError;

/// Makes `/run/candor` the folder of this user and this group, if it is nobody else's: gateways of two users cannot know of
/// each other. A folder that `CANDOR_RUN_DIR` names is left as it is.
///
/// # Errors
/// [`GatewayError`] if somebody else's gateways are in it.
pub fn give_run_dir(user: u32, group: u32) -> Result<(), GatewayError> {
    if folder::configured().is_none() {
        give(Path::new(DEFAULT_PATH), user, group)?;
    }
    Ok(())
}

fn give(path: &Path, user: u32, group: u32) -> Result<(), RunDirError> {
    fs::DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(path).map_err(failed(path, "Making it"))?;
    if fs::metadata(path).map_err(failed(path, "Looking at it"))?.uid() == user {
        return Ok(());
    }
    let files = fs::read_dir(path).map_err(failed(path, "Reading it"))?;
    let files = files.collect::<Result<Vec<_>, _>>().map_err(failed(path, "Reading it"))?;
    if files.iter().any(|file| file.path().extension().is_some_and(|extension| extension == "json")) {
        let reason = "gateways of another user are listed there, and this one could not know of them; end those, run all as \
                      the same user, or name another folder by CANDOR_RUN_DIR";
        return Err(failed(path, "Giving it to another user")(io::Error::new(ErrorKind::AddrInUse, reason)));
    }
    // The folder comes last: until then nobody else can exchange a file for a link.
    for file in files {
        chown(file.path(), Some(user), Some(group)).map_err(failed(path, "Giving it to another user"))?;
    }
    chown(path, Some(user), Some(group)).map_err(failed(path, "Giving it to another user"))
}

#[cfg(test)]
mod tests {
    use candor_io::process::effective_user;

    use super::*;

    #[test]
    fn a_folder_with_lists_is_not_given_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("candor");
        let (me, group) = (effective_user(), fs::metadata(folder.path()).unwrap().gid());
        give(&path, me, group).unwrap();
        fs::write(path.join("1-2-3.json"), "{}").unwrap();
        // It is this user's anyway.
        give(&path, me, group).unwrap();
        let error = give(&path, me + 1, group).unwrap_err();
        assert_eq!(error.source.kind(), ErrorKind::AddrInUse);
        assert_eq!(fs::metadata(&path).unwrap().uid(), me);
    }
}
