//! Reads what `shared/disk-recorder` has recorded.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One record. Paths are relative to the recorded directory.
#[derive(Clone, Debug)]
pub enum Record {
    Created {
        inode: u64,
        path: PathBuf,
    },
    Opened {
        inode: u64,
        path: PathBuf,
    },
    Wrote {
        inode: u64,
        at: usize,
        bytes: Vec<u8>,
    },
    Resized {
        inode: u64,
        length: usize,
    },
    SyncBegan {
        inode: u64,
        id: u64,
    },
    SyncEnded {
        inode: u64,
        id: u64,
    },
    Linked {
        from: PathBuf,
        to: PathBuf,
    },
    Renamed {
        from: PathBuf,
        to: PathBuf,
    },
    Removed {
        path: PathBuf,
    },
    MadeDirectory {
        path: PathBuf,
    },
    Responded(Vec<u8>),
}

/// Reads a journal of changes below `root`. The last record may be incomplete: its process was killed.
pub(super) fn read(journal: &Path, root: &Path) -> Vec<Record> {
    let bytes = std::fs::read(journal).unwrap();
    let mut rest = bytes.as_slice();
    let mut records = Vec::new();
    while let Some((record, next)) = split(rest, root) {
        records.push(record);
        rest = next;
    }
    records
}

fn split<'a>(bytes: &'a [u8], root: &Path) -> Option<(Record, &'a [u8])> {
    let (kind, bytes) = bytes.split_first()?;
    let (inode, bytes) = bytes.split_first_chunk()?;
    let (value, bytes) = bytes.split_first_chunk()?;
    let (length, bytes) = bytes.split_first_chunk()?;
    let (text, rest) = bytes.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (inode, value) = (u64::from_le_bytes(*inode), u64::from_le_bytes(*value));
    let at = usize::try_from(value).unwrap();
    let path = || relative(text, root);
    let record = match kind {
        1 => Record::Created {
            inode,
            path: path(),
        },
        2 => Record::Opened {
            inode,
            path: path(),
        },
        3 => Record::Wrote {
            inode,
            at,
            bytes: text.to_vec(),
        },
        4 => Record::Resized { inode, length: at },
        5 => Record::SyncBegan { inode, id: value },
        6 => Record::SyncEnded { inode, id: value },
        7 | 8 => {
            let (from, to) = two(text, root);
            if *kind == 7 {
                Record::Linked { from, to }
            } else {
                Record::Renamed { from, to }
            }
        }
        9 => Record::Removed { path: path() },
        10 => Record::MadeDirectory { path: path() },
        11 => Record::Responded(text.to_vec()),
        unknown => panic!("a record of kind {unknown}"),
    };
    Some((record, rest))
}

fn two(text: &[u8], root: &Path) -> (PathBuf, PathBuf) {
    let mut paths = text
        .split(|byte| *byte == 0)
        .map(|path| relative(path, root));
    (paths.next().unwrap(), paths.next().unwrap())
}

fn relative(path: &[u8], root: &Path) -> PathBuf {
    let path = Path::new(OsStr::from_bytes(path));
    path.strip_prefix(root).unwrap().to_owned()
}
