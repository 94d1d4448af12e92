//! Connects to one of the checked addresses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use postrider_domain::outcome::Phase;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::dialling::now;
use crate::failure::{self, NoConnection};

/// No more addresses than this are tried; a name may have hundreds.
const MAX_TRIED: usize = 6;

/// Tries the addresses one after another until one answers. Each gets a share of the remaining time, so that an address
/// that swallows packets does not hide those after it. A fault of our own hides what other addresses said: the receiver
/// might have answered there.
pub(crate) async fn dial(
    addresses: &[IpAddr],
    port: u16,
    budget: Duration,
) -> Result<TcpStream, NoConnection> {
    let started_at = now();
    let mut last = NoConnection::from(failure::no_address("the host"));
    let mut candidates = alternating(addresses)
        .take(MAX_TRIED)
        .collect::<Vec<_>>()
        .into_iter();
    while let Some(ip) = candidates.next() {
        let to = SocketAddr::new(ip, port);
        let share = share(started_at, budget, candidates.len());
        let failed = match timeout(share, connect(to)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure::from_connect(to, &error),
            Err(_) => failure::no_connection(to, share).into(),
        };
        last = worse(last, failed);
    }
    Err(last)
}

/// Which of two failures counts: our own before the receiver's, and those before an address without a route, which may
/// only be of a family that this machine does not have.
fn worse(before: NoConnection, after: NoConnection) -> NoConnection {
    use NoConnection::{Failed, Own, Unreachable};
    match (&before, &after) {
        (Own(_), Failed(_) | Unreachable(_)) => before,
        (Failed(failure), Unreachable(_)) if failure.phase == Phase::Connect => before,
        (Own(_) | Failed(_) | Unreachable(_), _) => after,
    }
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
    fn a_missing_address_family_does_not_hide_what_another_address_said() {
        let to = SocketAddr::from(([192, 0, 2, 1], 443));
        let error = |errno: rustix::io::Errno| {
            failure::from_connect(to, &io::Error::from_raw_os_error(errno.raw_os_error()))
        };
        let start = || NoConnection::from(failure::no_address("the host"));
        let refused = || error(rustix::io::Errno::CONNREFUSED);
        let unreachable = || error(rustix::io::Errno::NETUNREACH);
        let starved = || error(rustix::io::Errno::MFILE);
        let after = |tried: Vec<NoConnection>| tried.into_iter().fold(start(), worse);
        assert!(matches!(
            after(vec![refused(), unreachable()]),
            NoConnection::Failed(_)
        ));
        assert!(matches!(
            after(vec![unreachable(), unreachable()]),
            NoConnection::Unreachable(_)
        ));
        assert!(matches!(
            after(vec![starved(), unreachable()]),
            NoConnection::Own(_)
        ));
        assert!(matches!(
            after(vec![unreachable(), starved(), refused()]),
            NoConnection::Own(_)
        ));
    }

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
