//! What `serve` prints at startup.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use postrider_domain::egress::UrlScheme;

use crate::serve::admin::{Admin, Secrets};
use crate::serve::settings::Settings;

/// The default port of `postrider listen`.
const EXAMPLE_PORT: u16 = 9000;

/// Prints the addresses, where the key is, and commands to copy.
pub(crate) fn print(
    address: SocketAddr,
    admin: &Admin,
    login: &str,
    secrets: Secrets,
    settings: &Settings,
) {
    let program = crate::edge::program();
    println!(
        "Postrider {} is listening on http://{address}",
        env!("CARGO_PKG_VERSION")
    );
    admin.print(secrets);
    match secrets {
        Secrets::Shown => {
            println!("Inspector: http://{address}{login}");
            println!(
                "           This link logs in once, within 15 minutes. Later, log in at /inspector with a key."
            );
        }
        Secrets::Withheld => {
            println!("Inspector: http://{address}/inspector (log in with the key)");
        }
    }
    println!("API:       http://{address}/openapi.json");
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if settings
        .egress
        .check_address(loopback, UrlScheme::Http, EXAMPLE_PORT)
        .is_ok()
    {
        println!("Loopback:  allowed; webhooks may reach 127.0.0.1");
    } else {
        println!(
            "Loopback:  blocked; webhooks cannot reach this machine. To try the commands below, start with"
        );
        println!("           POSTRIDER_EGRESS_ALLOW=127.0.0.1/32 {program} serve");
    }
    println!(
        "\nTo see a webhook arrive, run the first command in one terminal and the others in another:\n"
    );
    println!("  {program} listen --register");
    println!("  {program} send task.completed '{{\"task\":\"t-1\",\"ok\":true}}' --wait");
    println!("  {program} deliveries list\n");
}
