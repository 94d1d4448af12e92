//! The files and directories below a directory, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Paths are relative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    pub directories: BTreeSet<PathBuf>,
    pub files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Image {
    /// Reads a directory.
    ///
    /// # Panics
    /// When a file cannot be read.
    #[must_use]
    pub fn of(root: &Path) -> Self {
        let mut image = Self::default();
        image.add(root, Path::new(""));
        image
    }

    fn add(&mut self, root: &Path, below: &Path) {
        for entry in fs::read_dir(root.join(below)).unwrap() {
            let entry = entry.unwrap();
            let path = below.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                self.add(root, &path);
                self.directories.insert(path);
            } else {
                self.files.insert(path, fs::read(entry.path()).unwrap());
            }
        }
    }

    /// Replaces a directory's contents.
    ///
    /// # Panics
    /// When a file cannot be written.
    pub fn write_to(&self, root: &Path) {
        let _ = fs::remove_dir_all(root);
        fs::create_dir(root).unwrap();
        for directory in &self.directories {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for (path, contents) in &self.files {
            fs::write(root.join(path), contents).unwrap();
        }
    }

    /// Without the index of SQLite's log. It is memory shared by processes, and SQLite rebuilds it after a crash.
    #[must_use]
    pub fn without_index(mut self) -> Self {
        self.files
            .retain(|path, _| !path.to_string_lossy().ends_with("-shm"));
        self
    }
}
