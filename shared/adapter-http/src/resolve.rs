//! Resolves a name to its addresses, by asking name servers directly.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig,
    ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;
use hickory_resolver::{Resolver, TokioResolver};

use crate::failure::{self, NoConnection};
use crate::settings::HttpSetupError;

/// The first query and two more fit into the connect timeout.
const QUERY_TIMEOUT: Duration = Duration::from_millis(1500);
/// A receiver that moves is found again within this time, whatever the TTL of its records.
const MAX_TTL: Duration = Duration::from_secs(60);
/// The first retry sees a record that was just created.
const MAX_NEGATIVE_TTL: Duration = Duration::from_secs(5);
const CACHED_NAMES: u64 = 4096;

pub(crate) struct Names {
    resolver: TokioResolver,
}

impl Names {
    /// Asks these name servers, or those of the system.
    pub(crate) fn new(name_servers: Option<&[SocketAddr]>) -> Result<Self, HttpSetupError> {
        let mut builder = match name_servers {
            None => Resolver::builder_tokio().map_err(HttpSetupError::NameServers)?,
            Some(servers) => {
                let servers = servers.iter().copied().map(name_server).collect();
                let config = ResolverConfig::from_name_servers(servers);
                let mut builder =
                    Resolver::builder_with_config(config, TokioRuntimeProvider::default());
                builder.options_mut().use_hosts_file = ResolveHosts::Never;
                builder
            }
        };
        tune(builder.options_mut());
        Ok(Self {
            resolver: builder.build()?,
        })
    }

    /// All addresses of a name, of both families: an address that is not seen here cannot be checked.
    pub(crate) async fn addresses_of(&self, name: &str) -> Result<Vec<IpAddr>, NoConnection> {
        let mut full_name = Name::from_ascii(name).map_err(|_| failure::no_such_name(name))?;
        // Without this, the system's search list would add suffixes to the name.
        full_name.set_fqdn(true);
        let found = self
            .resolver
            .lookup_ip(full_name)
            .await
            .map_err(|error| failure::from_dns(name, &error))?;
        let mut addresses: Vec<IpAddr> = Vec::new();
        for ip in found.iter().map(|ip| ip.to_canonical()) {
            if !addresses.contains(&ip) {
                addresses.push(ip);
            }
        }
        if addresses.is_empty() {
            Err(failure::no_address(name).into())
        } else {
            Ok(addresses)
        }
    }
}

fn tune(options: &mut ResolverOpts) {
    options.timeout = QUERY_TIMEOUT;
    options.attempts = 2;
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.cache_size = CACHED_NAMES;
    options.positive_max_ttl = Some(MAX_TTL);
    options.negative_max_ttl = Some(MAX_NEGATIVE_TTL);
}

fn name_server(at: SocketAddr) -> NameServerConfig {
    let on_port = |mut connection: ConnectionConfig| {
        connection.port = at.port();
        connection
    };
    let connections = vec![
        on_port(ConnectionConfig::udp()),
        on_port(ConnectionConfig::tcp()),
    ];
    NameServerConfig::new(at.ip(), true, connections)
}
