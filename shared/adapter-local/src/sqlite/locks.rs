//! Tells which processes are alive, by locks that the operating system drops when a process ends, however it ends.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use parking_lot::RwLock;
use postrider_ports::{Error, Result};

use super::fault::Fault;

const DIRECTORY: &str = "locks";
const SERVE_FILE: &str = "serve.lock";

/// The lock of this process, and what is known about the locks of others.
pub(super) struct Owners {
    directory: PathBuf,
    process: String,
    path: PathBuf,
    /// Locked for as long as this value lives.
    _lock: File,
    /// Ids are never reused, so a process that is gone stays gone.
    gone: RwLock<HashSet<String>>,
}

impl Owners {
    /// Draws an id, takes its lock, and deletes the lock files of processes that are gone.
    pub(super) fn enter(dir: &Path) -> std::result::Result<Self, Fault> {
        let directory = dir.join(DIRECTORY);
        super::make_private_directory(&directory)
            .map_err(|error| Fault::io("cannot create", &directory, &error))?;
        let mut drawn = [0; 8];
        super::random(&mut drawn)
            .map_err(|error| Fault::io("cannot get random bytes for", &directory, &error))?;
        let process = format!("{:016x}", u64::from_be_bytes(drawn));
        let path = lock_path(&directory, &process);
        let lock = create_locked(&path).map_err(|error| Fault::io("cannot lock", &path, &error))?;
        delete_free_locks(&directory);
        Ok(Self {
            directory,
            process,
            path,
            _lock: lock,
            gone: RwLock::default(),
        })
    }

    pub(super) fn process(&self) -> &str {
        &self.process
    }

    /// Whether a process has ended, which voids its leases.
    pub(super) fn is_gone(&self, process: &str) -> bool {
        if process == self.process {
            return false;
        }
        if self.gone.read().contains(process) {
            return true;
        }
        let gone = is_free(&lock_path(&self.directory, process));
        if gone {
            self.gone.write().insert(process.to_owned());
        }
        gone
    }
}

impl Drop for Owners {
    fn drop(&mut self) {
        // If the file cannot be deleted, it is free and the next process deletes it.
        let _ = fs::remove_file(&self.path);
    }
}

fn lock_path(directory: &Path, process: &str) -> PathBuf {
    // Process ids are written by this module; anything else does not name a lock and counts as gone.
    let valid = process.bytes().all(|b| b.is_ascii_alphanumeric());
    directory.join(if valid {
        format!("{process}.lock")
    } else {
        "none".to_owned()
    })
}

/// The file gets its final name only after it is locked, so no process ever sees it free while its owner lives.
fn create_locked(path: &Path) -> std::io::Result<File> {
    let draft = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    super::private(&mut options);
    let file = options.open(&draft)?;
    file.lock()?;
    fs::rename(&draft, path)?;
    Ok(file)
}

/// A missing lock is free. Asks for a shared lock, so two processes that check at once do not see each other's lock.
fn is_free(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => file.try_lock_shared().is_ok(),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

fn delete_free_locks(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path
            .extension()
            .is_some_and(|extension| extension == "lock")
            && is_free(&path)
        {
            // Missing and free mean the same, so it does not matter whether this succeeds.
            let _ = fs::remove_file(&path);
        }
    }
}

/// The exclusive right to serve a directory, held for as long as this value lives.
#[derive(Debug)]
pub struct ServeLock {
    _lock: File,
}

impl ServeLock {
    pub(super) fn take(dir: &Path) -> Result<Self> {
        let path = dir.join(SERVE_FILE);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        super::private(&mut options);
        let file = options
            .open(&path)
            .map_err(|error| Fault::io("cannot open", &path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _lock: file }),
            Err(TryLockError::WouldBlock) => Err(Error::Broken(format!(
                "another process already serves {}; stop it, or choose another directory",
                dir.display()
            ))),
            Err(TryLockError::Error(error)) => Err(Fault::io("cannot lock", &path, &error).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_gone_when_its_lock_is() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (
            Owners::enter(dir.path()).unwrap(),
            Owners::enter(dir.path()).unwrap(),
        );
        let name = two.process().to_owned();
        assert!(!one.is_gone(&name) && !one.is_gone(one.process()));
        assert!(one.is_gone("0123456789abcdef") && one.is_gone("../x"));
        drop(two);
        assert!(one.is_gone(&name));
    }

    #[test]
    fn free_locks_are_deleted_and_held_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let held = Owners::enter(dir.path()).unwrap();
        let left = lock_path(&held.directory, "00aa");
        fs::write(&left, "").unwrap();
        let _second = Owners::enter(dir.path()).unwrap();
        assert!(!left.exists() && held.path.exists());
    }

    #[test]
    fn one_process_serves_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let first = ServeLock::take(dir.path()).unwrap();
        assert!(
            ServeLock::take(dir.path())
                .unwrap_err()
                .to_string()
                .contains("another process already serves")
        );
        drop(first);
        ServeLock::take(dir.path()).unwrap();
    }
}
