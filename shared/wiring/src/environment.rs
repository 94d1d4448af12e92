//! Where the environment comes in.

/// One variable, as the environment has it.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the settings of functions come in"
)]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
