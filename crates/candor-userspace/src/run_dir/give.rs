//! Changing the owner of the run directory, for `--user` and back.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown, lchown};
use std::path::Path;

use candor_io::lock::{self, FileLock};
use candor_io::process::effective_user;

use super::error::{FileError, RunDirError, failed};
use super::folder::{self, DEFAULT_PATH, LOCK, PRIVATE_FOLDER, ROOT};

/// Makes this user and group the owner of `/run/candor`, unless it has records of another user: gateways of two users
/// cannot detect each other. Has no effect with `CANDOR_RUN_DIR`.
///
/// # Errors
/// [`RunDirError`] if gateways of another user have records there.
pub fn give_run_dir(user: u32, group: u32) -> Result<(), RunDirError> {
    if folder::configured().is_none() {
        give(Path::new(DEFAULT_PATH), user, group)?;
    }
    Ok(())
}

/// Makes root the owner of `/run/candor` again, before a gateway of root drops the capability to open files of others.
/// Has no effect if root owns it.
///
/// # Errors
/// [`RunDirError`] if a gateway of that user runs.
pub fn take_run_dir_back() -> Result<(), RunDirError> {
    if folder::configured().is_none() && effective_user() == ROOT {
        take_back(Path::new(DEFAULT_PATH), ROOT)?;
    }
    Ok(())
}

fn take_back(path: &Path, me: u32) -> Result<(), FileError> {
    match fs::metadata(path) {
        Ok(data) if data.uid() != me => {}
        // Errors are reported when the directory is opened.
        _ => return Ok(()),
    }
    // From now on no other user can replace a file by a link.
    chown(path, Some(me), Some(me)).map_err(failed(path, "Changing its owner"))?;
    let taken = take_files(path, me);
    if taken.is_err() {
        // The running gateways keep their directory.
        let owner = fs::metadata(path.join(LOCK)).map(|data| (data.uid(), data.gid()));
        let _ = owner.and_then(|(user, group)| chown(path, Some(user), Some(group)));
    }
    taken
}

fn take_files(path: &Path, me: u32) -> Result<(), FileError> {
    let files = fs::read_dir(path).map_err(failed(path, "Reading it"))?;
    let mut lists = Vec::new();
    let mut others = Vec::new();
    for file in files {
        let file = file.map_err(failed(path, "Reading it"))?.path();
        let is_list = file.extension().is_some_and(|extension| extension == "json");
        if is_list { lists.push(file) } else { others.push(file) }
    }
    for list in &lists {
        let opened = lock::open_regular(OpenOptions::new().read(true), list).map_err(failed(list, "Opening it"))?;
        if FileLock::try_exclusive(opened).map_err(failed(list, "Locking it"))?.is_err() {
            let reason = "a gateway of another user runs and uses this directory, so duplicate routes could not be detected; \
                          stop it, use the same --user, or set another directory with CANDOR_RUN_DIR";
            return Err(failed(path, "Changing its owner")(io::Error::new(ErrorKind::AddrInUse, reason)));
        }
    }
    for file in lists.iter().chain(&others) {
        lchown(file, Some(me), Some(me)).map_err(failed(file, "Changing its owner"))?;
    }
    Ok(())
}

fn give(path: &Path, user: u32, group: u32) -> Result<(), FileError> {
    fs::DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(path).map_err(failed(path, "Creating it"))?;
    if fs::metadata(path).map_err(failed(path, "Reading its metadata"))?.uid() == user {
        return Ok(());
    }
    let files = fs::read_dir(path).map_err(failed(path, "Reading it"))?;
    let files = files.collect::<Result<Vec<_>, _>>().map_err(failed(path, "Reading it"))?;
    if files.iter().any(|file| file.path().extension().is_some_and(|extension| extension == "json")) {
        let reason = "it lists gateways of another user, so duplicate routes could not be detected; stop them, run all as \
                      the same user, or set another directory with CANDOR_RUN_DIR";
        return Err(failed(path, "Changing its owner")(io::Error::new(ErrorKind::AddrInUse, reason)));
    }
    // The directory last: until then no other user can replace a file by a link.
    for file in files {
        chown(file.path(), Some(user), Some(group)).map_err(failed(path, "Changing its owner"))?;
    }
    chown(path, Some(user), Some(group)).map_err(failed(path, "Changing its owner"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_back_unless_a_gateway_of_its_user_runs() {
        if effective_user() != ROOT {
            println!("only root can give directories away");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("candor");
        let list = path.join("1-2-3.json");
        give(&path, 65534, 65534).unwrap();
        for file in [&path.join(LOCK), &list] {
            fs::write(file, "{}").unwrap();
            chown(file, Some(65534), Some(65534)).unwrap();
        }
        let owners = || [&path, &path.join(LOCK), &list].map(|file| fs::metadata(file).unwrap().uid());
        let running = FileLock::try_exclusive(fs::File::open(&list).unwrap()).unwrap().unwrap();
        let error = take_back(&path, ROOT).unwrap_err();
        assert!(error.source.to_string().contains("--user"), "{}", error.source);
        assert_eq!(owners(), [65534; 3]);
        // After it was killed, the next start adopts its jobs.
        drop(running);
        take_back(&path, ROOT).unwrap();
        assert_eq!(owners(), [ROOT; 3]);
    }

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
