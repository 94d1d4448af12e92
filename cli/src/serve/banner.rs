//! The first lines a person sees.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use postrider_domain::egress::UrlScheme;

use crate::serve::admin::{Admin, Secrets};
use crate::serve::settings::Settings;

/// A port that the example receiver listens on.
const EXAMPLE_PORT: u16 = 9000;

/// Prints the address, where the key is, and three lines to copy.
pub(crate) fn print(
    address: SocketAddr,
    admin: &Admin,
    login: &str,
    secrets: Secrets,
    settings: &Settings,
) {
    let program = crate::edge::program();
    println!(
        "Postrider {} listens on http://{address}",
        env!("CARGO_PKG_VERSION")
    );
    admin.print(secrets);
    match secrets {
        Secrets::Shown => {
            println!("Inspector: http://{address}{login}");
            println!("          logs in once, within 15 minutes; later at /inspector, with a key");
        }
        Secrets::Withheld => println!("Inspector: http://{address}/inspector, with the key"),
    }
    println!("API:      http://{address}/openapi.json");
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if settings
        .egress
        .check_address(loopback, UrlScheme::Http, EXAMPLE_PORT)
        .is_ok()
    {
        println!("Loopback: open, webhooks may reach 127.0.0.1");
    } else {
        println!(
            "Loopback: closed, webhooks cannot reach this machine. To try the lines below, start with"
        );
        println!("          POSTRIDER_EGRESS_ALLOW=127.0.0.1/32 {program} serve");
    }
    println!(
        "\nSee a webhook arrive; the first line in one terminal, the others in a second one:\n"
    );
    println!("  {program} listen --register");
    println!("  {program} send task.completed '{{\"task\":\"t-1\",\"ok\":true}}' --wait");
    println!("  {program} deliveries list\n");
}
