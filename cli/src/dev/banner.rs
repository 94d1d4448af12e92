//! What `dev` prints at startup.

use url::Url;

use super::function::Function;
use crate::serve::admin::{Admin, Secrets};

/// The default port of `cargo lambda watch`.
const DEFAULT_PORT: u16 = 9000;

/// Prints the addresses, where the key is, and commands to copy.
pub(super) fn print(
    dev_url: &str,
    admin: &Admin,
    invoke: &Url,
    dispatcher: &Function,
    poller: &Function,
) {
    let program = crate::edge::program();
    println!(
        "Postrider {} is serving its store and queue to functions. Their address:",
        env!("CARGO_PKG_VERSION")
    );
    println!("\n  export POSTRIDER_DEV_URL={dev_url}\n");
    admin.print(Secrets::to_a_terminal());
    println!("Invokes:   {}", dispatcher.url());
    println!("           {}", poller.url());
    println!("\nTo run the functions, use a second terminal with the address above:\n");
    println!("  export POSTRIDER_EGRESS_ALLOW=127.0.0.1/32");
    println!(
        "  tools/watch --invoke-port {}\n",
        invoke.port_or_known_default().unwrap_or(DEFAULT_PORT)
    );
    println!(
        "To see a webhook arrive, use a third terminal with the key above in POSTRIDER_TOKEN:\n"
    );
    println!("  export POSTRIDER_URL={invoke}lambda-url/postrider-api");
    println!("  {program} listen --port 0 --register &");
    println!("  {program} send task.completed '{{\"task\":\"t-1\",\"ok\":true}}' --wait\n");
    println!(
        "More in docs/develop-functions.md. Each invocation is printed below. Press Ctrl-C to stop.\n"
    );
}
