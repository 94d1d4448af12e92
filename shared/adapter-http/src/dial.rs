//! Connects to one of the checked addresses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use postrider_domain::outcome::Failure;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::dialling::now;
use crate::failure;

/// No more addresses than this are tried; a name may have hundreds.
const MAX_TRIED: usize = 6;

/// Tries the addresses one after another until one answers. Each gets a share of the remaining time, so that an address
/// that swallows packets does not hide those after it.
pub(crate) async fn dial(
    addresses: &[IpAddr],
    port: u16,
    budget: Duration,
) -> Result<TcpStream, Failure> {
    let started_at = now();
    let mut last = failure::no_address("the host");
    let mut candidates = alternating(addresses)
        .take(MAX_TRIED)
        .collect::<Vec<_>>()
        .into_iter();
    while let Some(ip) = candidates.next() {
        let to = SocketAddr::new(ip, port);
        let share = share(started_at, budget, candidates.len());
        last = match timeout(share, connect(to)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure::from_connect(to, &error),
            Err(_) => failure::no_connection(to, share),
        };
    }
    Err(last)
}

async fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn share(started_at: Instant, budget: Duration, others: usize) -> Duration {
    let left = budget.saturating_sub(started_at.elapsed());
    left / u32::try_from(others.saturating_add(1)).unwrap_or(u32::MAX)
}

/// Alternates IPv4 and IPv6, so that a family without a route costs one try, not all.
fn alternating(addresses: &[IpAddr]) -> impl Iterator<Item = IpAddr> {
    let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) = addresses.iter().partition(|ip| ip.is_ipv4());
    let longer = v4.len().max(v6.len());
    (0..longer)
        .flat_map(move |turn| [v4.get(turn).copied(), v6.get(turn).copied()])
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_families_alternate() {
        let ips = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| text.parse().unwrap())
                .collect::<Vec<IpAddr>>()
        };
        let mixed = ips(&["2a00::1", "2a00::2", "2a00::3", "1.1.1.1"]);
        let order: Vec<IpAddr> = alternating(&mixed).collect();
        assert_eq!(order, ips(&["1.1.1.1", "2a00::1", "2a00::2", "2a00::3"]));
    }
}
