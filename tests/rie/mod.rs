//! The functions as AWS starts them, under its Runtime Interface Emulator, on the store and queue of `postrider dev`.

mod dev;
mod emulated;
mod request;
mod stage;
mod story;
