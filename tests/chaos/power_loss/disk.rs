//! What the disk holds for certain, and what a power loss could take away.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use postrider_flow_model::random::Random;

use super::content::{Change, Content, below};
use super::image::Image;
use super::journal::Record;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Directory,
    /// An index of the files.
    File(usize),
}

/// What an inode number means at this point of the journal. Numbers are reused.
#[derive(Clone, Debug)]
enum Inode {
    Directory(PathBuf),
    File(usize),
}

type Names = BTreeMap<PathBuf, Node>;

/// A change of directories that happens as a whole: the new node of each path, or none.
#[derive(Clone, Debug)]
struct Renaming(Vec<(PathBuf, Option<Node>)>);

impl Renaming {
    fn apply(&self, names: &mut Names) {
        for (path, node) in &self.0 {
            match node {
                Some(node) => names.insert(path.clone(), *node),
                None => names.remove(path),
            };
        }
    }

    fn directories(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter_map(|(path, _)| path.parent())
    }
}

#[derive(Clone, Debug)]
pub struct Disk {
    files: Vec<Content>,
    /// The names that are on disk for certain.
    synced: Names,
    /// The names that the process sees.
    seen: Names,
    /// What leads from one to the other, with positions in the journal.
    renamings: Vec<(usize, Renaming)>,
    inodes: HashMap<u64, Inode>,
    /// Where each sync began.
    syncs: HashMap<u64, usize>,
    position: usize,
}

impl Disk {
    /// A disk that holds this and nothing else.
    #[must_use]
    pub fn new(image: &Image) -> Self {
        let directories = image.directories.iter().cloned();
        let mut names: Names = directories.map(|path| (path, Node::Directory)).collect();
        let mut files = Vec::new();
        for (path, contents) in &image.files {
            names.insert(path.clone(), Node::File(files.len()));
            files.push(Content::synced(contents.clone()));
        }
        Self {
            files,
            synced: names.clone(),
            seen: names,
            renamings: Vec::new(),
            inodes: HashMap::new(),
            syncs: HashMap::new(),
            position: 0,
        }
    }

    /// # Panics
    /// If the journal does not say how a descriptor was opened.
    pub fn apply(&mut self, record: &Record) {
        self.position += 1;
        match record {
            Record::Created { inode, path } => {
                let file = Node::File(self.files.len());
                self.inodes.insert(*inode, Inode::File(self.files.len()));
                self.files.push(Content::default());
                self.rename(vec![(path.clone(), Some(file))]);
            }
            Record::Opened { inode, path } => self.open(*inode, path),
            Record::Wrote { inode, at, bytes } => {
                let (at, bytes) = (*at, bytes.clone());
                self.change(*inode, Change::Write { at, bytes });
            }
            Record::Resized { inode, length } => self.change(*inode, Change::Resize(*length)),
            Record::SyncBegan { id, .. } => {
                self.syncs.insert(*id, self.position);
            }
            Record::SyncEnded { inode, id } => self.sync(*inode, self.syncs[id]),
            Record::Linked { from, to } => {
                self.rename(vec![(to.clone(), self.seen.get(from).copied())]);
            }
            Record::Renamed { from, to } => {
                let node = self.seen.get(from).copied();
                assert_ne!(node, Some(Node::Directory), "directories keep their name");
                self.rename(vec![(from.clone(), None), (to.clone(), node)]);
            }
            Record::Removed { path } => self.rename(vec![(path.clone(), None)]),
            Record::MadeDirectory { path } => {
                self.rename(vec![(path.clone(), Some(Node::Directory))]);
            }
            Record::Responded(_) => {}
        }
    }

    fn open(&mut self, inode: u64, path: &Path) {
        let meaning = match self.seen.get(path) {
            Some(Node::File(file)) => Inode::File(*file),
            Some(Node::Directory) | None => Inode::Directory(path.to_owned()),
        };
        self.inodes.insert(inode, meaning);
    }

    fn change(&mut self, inode: u64, change: Change) {
        if let Inode::File(file) = self.inodes[&inode] {
            self.files[file].change(self.position, change);
        }
    }

    fn rename(&mut self, changes: Vec<(PathBuf, Option<Node>)>) {
        let renaming = Renaming(changes);
        renaming.apply(&mut self.seen);
        self.renamings.push((self.position, renaming));
    }

    fn sync(&mut self, inode: u64, began: usize) {
        match self.inodes[&inode].clone() {
            Inode::File(file) => self.files[file].sync(began),
            Inode::Directory(path) => self.sync_directory(&path, began),
        }
    }

    fn sync_directory(&mut self, path: &Path, began: usize) {
        for (at, renaming) in std::mem::take(&mut self.renamings) {
            if at < began && renaming.directories().any(|directory| directory == path) {
                renaming.apply(&mut self.synced);
            } else {
                self.renamings.push((at, renaming));
            }
        }
    }

    /// What the process sees.
    #[must_use]
    pub fn with_everything(&self) -> Image {
        self.image(&self.seen, Content::with_everything)
    }

    /// What the disk could hold if the power failed now.
    pub fn after_power_loss(&self, random: &mut Random) -> Image {
        let names = self.names_after_power_loss(random);
        self.image(&names, |content| content.after_power_loss(random))
    }

    /// A file system writes the changes of one directory in order, so what is lost comes after what is kept.
    fn names_after_power_loss(&self, random: &mut Random) -> Names {
        // Of three: all are lost, all are kept, each with a chance.
        let draw = below(random, 3);
        let mut names = self.synced.clone();
        let mut ended: BTreeSet<&Path> = BTreeSet::new();
        for (_, renaming) in &self.renamings {
            let kept = draw == 1 || draw == 2 && below(random, 2) == 0;
            if kept
                && renaming
                    .directories()
                    .all(|directory| !ended.contains(directory))
            {
                renaming.apply(&mut names);
            } else {
                ended.extend(renaming.directories());
            }
        }
        names
    }

    fn image(&self, names: &Names, mut contents: impl FnMut(&Content) -> Vec<u8>) -> Image {
        let mut image = Image::default();
        // In order, so a directory comes before what is in it.
        for (path, node) in names {
            let parent = path.parent().unwrap_or(Path::new(""));
            if parent != Path::new("") && !image.directories.contains(parent) {
                continue;
            }
            match node {
                Node::Directory => {
                    image.directories.insert(path.clone());
                }
                Node::File(file) => {
                    image
                        .files
                        .insert(path.clone(), contents(&self.files[*file]));
                }
            }
        }
        image
    }
}
