//! The command's access to the outside world: the clock, randomness, the environment, prompts, waiting and signals.

use std::io::{self, BufRead, IsTerminal, Write};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use postrider_domain::ids::IdEntropy;
use postrider_domain::time::Timestamp;

use crate::serve::settings::declared::NO_COLOR;

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

/// Random bytes for a new id.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the command generates random bytes"
)]
pub(crate) fn entropy() -> io::Result<IdEntropy> {
    let mut bytes = IdEntropy::default();
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// Random bytes for a new key.
#[expect(
    clippy::disallowed_methods,
    reason = "as `entropy`, for secrets that the command generates"
)]
pub(crate) fn seed() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// Prompts for hidden input; none without a terminal.
pub(crate) fn ask_hidden(question: &str) -> io::Result<Option<String>> {
    let terminal = console::Term::stderr();
    if !terminal.is_term() {
        return Ok(None);
    }
    terminal.write_str(question)?;
    terminal.read_secure_line().map(Some)
}

/// Prompts for confirmation; none without a terminal. Anything but a clear yes counts as no.
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

/// Whether the environment asks for plain text: <https://no-color.org>, or a terminal without colours.
#[expect(
    clippy::disallowed_methods,
    reason = "conventions of terminals, not settings of the gateway"
)]
pub(crate) fn asks_for_plain_text() -> bool {
    std::env::var_os(NO_COLOR.name).is_some_and(|value| !value.is_empty()) || is_dumb_terminal()
}

/// Whether the terminal can only append text.
#[expect(
    clippy::disallowed_methods,
    reason = "conventions of terminals, not settings of the gateway"
)]
pub(crate) fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}

/// Waits between two polls.
#[expect(
    clippy::disallowed_methods,
    reason = "polling; callers run under `unless_interrupted`"
)]
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// The result of the work, or `None` if Ctrl-C is pressed first.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = stop_signal() => None,
        result = work => Some(result),
    }
}

/// Resolves on Ctrl-C and SIGTERM. Listens from this call on, not from the first poll, because a process may be stopped
/// as soon as it has printed that it is ready.
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

/// Waits for a signal; forever if the handler could not be installed.
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

/// No signal on this platform; each frame checks the size.
#[cfg(not(unix))]
pub(crate) async fn resized() {
    std::future::pending().await
}

/// Why nothing can listen on an address, and the option that chooses another one.
pub(crate) fn cannot_bind(address: SocketAddr, error: &io::Error, option: &str) -> String {
    if error.kind() == io::ErrorKind::AddrInUse {
        format!("cannot listen on {address}: it is in use; choose another with {option}")
    } else {
        format!("cannot listen on {address}: {error}")
    }
}

/// The environment variables whose names begin like this.
#[expect(
    clippy::disallowed_methods,
    reason = "finds misspelt settings; their values are not read"
)]
pub(crate) fn variables(prefix: &str) -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// A setting of the gateway from the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where settings are read"
)]
pub(crate) fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// How this program was called, for commands that users copy.
pub(crate) fn program() -> String {
    std::env::args()
        .next()
        .unwrap_or_else(|| "postrider".to_owned())
}
