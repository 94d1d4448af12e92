//! The stack of `template.yaml`: what the template promises, and the whole of it deployed on the local AWS emulator with
//! the real binaries of the functions.

mod announcing;
mod bridge;
mod delivering;
mod emulator;
mod inspecting;
mod key_stats;
mod mailing;
mod mend;
mod mending;
mod policies;
mod queue;
mod receiving;
mod recovering;
mod sam;
mod stack;
mod story;
mod template;
mod variables;
