//! What `serve` prints at startup.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use postrider_domain::egress::UrlScheme;

use crate::serve::admin::{Admin, Secrets};
use crate::serve::settings::Settings;
use crate::serve::settings::declared::{DATA, LISTEN};

/// The default port of `postrider listen`.
const EXAMPLE_PORT: u16 = 9000;

/// Where the gateway runs.
pub(crate) struct Place<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) data: &'a Path,
}

impl Place<'_> {
    /// The options with which the other commands find this gateway.
    fn for_commands(&self) -> String {
        let ip = self.address.ip();
        let reachable = match (ip.is_unspecified(), ip.is_ipv4()) {
            (true, true) => Ipv4Addr::LOCALHOST.into(),
            (true, false) => Ipv6Addr::LOCALHOST.into(),
            (false, _) => ip,
        };
        let address = SocketAddr::new(reachable, self.address.port()).to_string();
        let url = (address != LISTEN.values.default).then(|| format!(" --url http://{address}"));
        format!("{}{}", url.unwrap_or_default(), self.data_option())
    }

    /// The options with which `serve` runs here again.
    fn for_serve(&self) -> String {
        let address = self.address.to_string();
        let listen = (address != LISTEN.values.default).then(|| format!(" --listen {address}"));
        format!("{}{}", listen.unwrap_or_default(), self.data_option())
    }

    fn data_option(&self) -> String {
        if self.data == Path::new(DATA.values.default) {
            return String::new();
        }
        let path = self.data.display().to_string();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        if path.chars().all(is_plain) {
            format!(" --data {path}")
        } else {
            format!(" --data '{}'", path.replace('\'', "'\\''"))
        }
    }
}

/// Prints the addresses, where the key is, and commands to copy.
pub(crate) fn print(
    place: &Place<'_>,
    admin: &Admin,
    login: &str,
    secrets: Secrets,
    settings: &Settings,
) {
    let program = crate::edge::program();
    let (address, options) = (place.address, place.for_commands());
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
        println!(
            "           POSTRIDER_EGRESS_ALLOW=127.0.0.1/32 {program} serve{}",
            place.for_serve()
        );
    }
    println!(
        "\nTo see a webhook arrive, run the first command in one terminal and the others in another:\n"
    );
    println!("  {program} listen --register{options}");
    println!("  {program} send task.completed '{{\"task\":\"t-1\",\"ok\":true}}' --wait{options}");
    println!("  {program} deliveries list{options}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_commands_find_this_gateway() {
        let options = |address: &str, data: &str| {
            let place = Place {
                address: address.parse().unwrap(),
                data: Path::new(data),
            };
            place.for_commands()
        };
        assert_eq!(options("127.0.0.1:8080", "./postrider-data"), "");
        assert_eq!(
            options("0.0.0.0:9090", "/var/lib/postrider"),
            " --url http://127.0.0.1:9090 --data /var/lib/postrider"
        );
        assert_eq!(
            options("[::1]:8080", "it's here"),
            " --url http://[::1]:8080 --data 'it'\\''s here'"
        );
    }
}
