//! The files of a release, packaged from stand-ins for the binaries: what `make dist` adds to them.

mod archives;
mod debian;
mod deploy;
mod image;
mod materials;
mod stage;
