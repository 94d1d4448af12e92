//! The functions as AWS starts them, under its Runtime Interface Emulator and under `cargo lambda watch`, on the store and
//! queue of `postrider dev`.

mod dev;
mod emulated;
mod request;
mod stage;
mod story;
mod watched;
