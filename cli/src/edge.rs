//! Where the outside comes in: the clock, randomness, the environment, waiting and signals.

use std::io::{self, BufRead, IsTerminal, Write};
use std::time::{Duration, SystemTime};

use postrider_domain::ids::IdEntropy;
use postrider_domain::time::Timestamp;

/// The present instant.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the command reads the clock"
)]
pub(crate) fn now() -> Timestamp {
    let since_epoch = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::ZERO.plus(since_epoch.into())
}

/// Random bytes for a fresh id.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the command draws random bytes"
)]
pub(crate) fn entropy() -> io::Result<IdEntropy> {
    let mut bytes = IdEntropy::default();
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// Random bytes to make a key of.
#[expect(
    clippy::disallowed_methods,
    reason = "as `entropy`, for secrets that the command draws"
)]
pub(crate) fn seed() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// What somebody types who does not want it seen; nothing if nobody sits there.
pub(crate) fn ask_hidden(question: &str) -> io::Result<Option<String>> {
    let terminal = console::Term::stderr();
    if !terminal.is_term() {
        return Ok(None);
    }
    terminal.write_str(question)?;
    terminal.read_secure_line().map(Some)
}

/// Whether somebody says yes; nothing if nobody sits there. Anything but a clear yes is a no.
pub(crate) fn ask_yes(question: &str) -> io::Result<Option<bool>> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    let mut stderr = io::stderr().lock();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let answer = answer.trim().to_ascii_lowercase();
    Ok(Some(answer == "y" || answer == "yes"))
}

/// Whether the environment asks for plain text: <https://no-color.org>, or a terminal that knows no colours.
#[expect(
    clippy::disallowed_methods,
    reason = "conventions of terminals, not settings of the gateway"
)]
pub(crate) fn asks_for_plain_text() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || is_dumb_terminal()
}

/// Whether the terminal says that it can only append text.
#[expect(
    clippy::disallowed_methods,
    reason = "conventions of terminals, not settings of the gateway"
)]
pub(crate) fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}

/// Waits between two looks at something that only answers when asked.
#[expect(
    clippy::disallowed_methods,
    reason = "polling; whoever calls it does so under `unless_interrupted`"
)]
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// What the work comes to, or `None` if Ctrl-C is pressed first.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = stop_signal() => None,
        result = work => Some(result),
    }
}

/// Resolves on Ctrl-C and when the process is asked to end. It listens from this call on, not from the first wait: whoever has
/// announced itself may be stopped at once.
#[cfg(unix)]
pub(crate) fn stop_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let interrupts = signal(SignalKind::interrupt());
    let terminations = signal(SignalKind::terminate());
    async {
        tokio::select! {
            () = arrival(interrupts) => {}
            () = arrival(terminations) => {}
        }
    }
}

/// Waits for a signal; for ever if it cannot be listened for.
#[cfg(unix)]
async fn arrival(signals: io::Result<tokio::signal::unix::Signal>) {
    match signals {
        Ok(mut signals) => {
            signals.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}

/// Resolves on Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn stop_signal() -> impl Future<Output = ()> {
    async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Resolves when the terminal changes its size.
#[cfg(unix)]
pub(crate) async fn resized() {
    use tokio::signal::unix::{SignalKind, signal};
    arrival(signal(SignalKind::window_change())).await;
}

/// Nobody tells; the next frame looks for itself.
#[cfg(not(unix))]
pub(crate) async fn resized() {
    std::future::pending().await
}

/// A setting of the gateway, as the environment has it.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where settings come in"
)]
pub(crate) fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// How this program was called, for lines that people copy.
pub(crate) fn program() -> String {
    std::env::args()
        .next()
        .unwrap_or_else(|| "postrider".to_owned())
}
