//! The stack of `template.yaml`: checks of the template, and the whole stack deployed on the local AWS emulator with the
//! real binaries of the functions.

mod at_length;
mod bridge;
mod bulk_retries;
mod corrections;
mod delivering;
mod emulator;
mod erasing;
mod eventbridge;
mod failed_webhooks;
mod hardening;
mod inspecting;
mod key_stats;
mod mailing;
mod moving;
mod notifying;
mod operating;
mod outages;
mod policies;
mod queue;
mod receiving;
mod recovering;
mod restoring;
mod sam;
mod stack;
mod story;
mod template;
mod validating;
mod variables;
mod waiting;
