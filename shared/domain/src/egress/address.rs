//! Which addresses are public. The ranges are those of the IANA special-purpose registries and of cloud metadata.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::Blocked;

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(segments: [u16; 8], prefix: u8) -> Ipv6Net {
    let [a, b, c, d, e, f, g, h] = segments;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix)
}

const BLOCKED_V4: [(Ipv4Net, &str); 19] = [
    (v4(0, 0, 0, 0, 8), "unspecified"),
    (v4(10, 0, 0, 0, 8), "private"),
    (v4(100, 64, 0, 0, 10), "shared address space"),
    (v4(127, 0, 0, 0, 8), "loopback"),
    (v4(169, 254, 0, 0, 16), "link-local"),
    (v4(172, 16, 0, 0, 12), "private"),
    (v4(192, 0, 0, 0, 24), "reserved for protocol assignments"),
    (v4(192, 0, 2, 0, 24), "reserved for documentation"),
    (v4(192, 31, 196, 0, 24), "reserved for AS112"),
    (v4(192, 52, 193, 0, 24), "reserved for AMT"),
    (v4(192, 88, 99, 0, 24), "a 6to4 relay"),
    (v4(192, 168, 0, 0, 16), "private"),
    (v4(192, 175, 48, 0, 24), "reserved for AS112"),
    (v4(198, 18, 0, 0, 15), "reserved for benchmarks"),
    (v4(198, 51, 100, 0, 24), "reserved for documentation"),
    (v4(203, 0, 113, 0, 24), "reserved for documentation"),
    (v4(224, 0, 0, 0, 4), "multicast"),
    (v4(240, 0, 0, 0, 4), "reserved"),
    (v4(168, 63, 129, 16, 32), "cloud metadata"),
];

const COMPATIBLE: Ipv6Net = v6([0; 8], 96);
const TRANSLATED: Ipv6Net = v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96);
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
const LOCAL_NAT64: Ipv6Net = v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48);
const TEREDO: Ipv6Net = v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32);
const SIX_TO_FOUR: Ipv6Net = v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16);
const GLOBAL: Ipv6Net = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// The first match gives the reason, so narrow ranges come before the wide ones that contain them.
const BLOCKED_V6: [(Ipv6Net, &str); 19] = [
    (v6([0; 8], 128), "unspecified"),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), "loopback"),
    (COMPATIBLE, "an IPv4-compatible address"),
    (TRANSLATED, "an IPv4-translated address"),
    (NAT64, "a NAT64 address"),
    (LOCAL_NAT64, "a local NAT64 address"),
    (v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), "discard-only"),
    (TEREDO, "a Teredo address"),
    (
        v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
        "reserved for protocol assignments",
    ),
    (
        v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
        "reserved for documentation",
    ),
    (SIX_TO_FOUR, "a 6to4 address"),
    (
        v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48),
        "reserved for AS112",
    ),
    (
        v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
        "reserved for documentation",
    ),
    (
        v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),
        "reserved for segment routing",
    ),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32), "cloud metadata"),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "private"),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "link-local"),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "site-local"),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "multicast"),
];

/// Loopback (also reached through 0/8), link-local and the metadata services of AWS, Azure, Google, Alibaba and Oracle.
/// A wide range in the settings must not open these by accident.
const ONLY_BY_EXACT_NAME: [IpNet; 11] = [
    IpNet::V4(v4(0, 0, 0, 0, 8)),
    IpNet::V4(v4(127, 0, 0, 0, 8)),
    IpNet::V4(v4(169, 254, 0, 0, 16)),
    IpNet::V4(v4(168, 63, 129, 16, 32)),
    IpNet::V4(v4(100, 100, 100, 200, 32)),
    IpNet::V4(v4(192, 0, 0, 192, 32)),
    IpNet::V6(v6([0; 8], 128)),
    IpNet::V6(v6([0, 0, 0, 0, 0, 0, 0, 1], 128)),
    IpNet::V6(v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10)),
    IpNet::V6(v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32)),
    IpNet::V6(v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128)),
];

/// Blocks every address that is not public. The address must be canonical: not an IPv4 address as `::ffff:…`.
pub(super) fn check_public(ip: IpAddr) -> Result<(), Blocked> {
    match ip {
        IpAddr::V4(v4) => match blocked_v4(v4) {
            Some((range, what)) => Err(Blocked::Blocked { ip, what, range }),
            None => Ok(()),
        },
        IpAddr::V6(v6) => check_public_v6(v6),
    }
}

fn check_public_v6(ip: Ipv6Addr) -> Result<(), Blocked> {
    if let Some((range, what)) = BLOCKED_V6
        .into_iter()
        .find(|(range, _)| range.contains(&ip))
    {
        return Err(Blocked::Blocked {
            ip: ip.into(),
            what,
            range: range.into(),
        });
    }
    if !GLOBAL.contains(&ip) {
        return Err(Blocked::NotGlobal { ip });
    }
    for inner in embedded(ip) {
        if let Some((range, what)) = blocked_v4(inner) {
            return Err(Blocked::ContainsBlocked {
                ip,
                inner,
                what,
                range,
            });
        }
    }
    Ok(())
}

fn blocked_v4(ip: Ipv4Addr) -> Option<(IpNet, &'static str)> {
    BLOCKED_V4
        .into_iter()
        .find(|(range, _)| range.contains(&ip))
        .map(|(range, what)| (range.into(), what))
}

/// Whether this address, or one embedded in it, can be opened only by its exact /32 or /128.
pub(super) fn needs_exact_name(ip: IpAddr) -> bool {
    let listed = |ip: IpAddr| ONLY_BY_EXACT_NAME.iter().any(|range| range.contains(&ip));
    with_embedded(ip).any(listed)
}

/// The address, and the IPv4 addresses that a translator or tunnel would send it to.
pub(super) fn with_embedded(ip: IpAddr) -> impl Iterator<Item = IpAddr> {
    let inner = match ip {
        IpAddr::V4(_) => None,
        IpAddr::V6(v6) => Some(embedded(v6).map(IpAddr::V4)),
    };
    std::iter::once(ip).chain(inner.into_iter().flatten())
}

/// Whether every address of the range needs its own /32 or /128, so the range has no effect.
pub(super) fn opens_nothing(range: &IpNet) -> bool {
    range.prefix_len() < range.max_prefix_len()
        && ONLY_BY_EXACT_NAME.iter().any(|wide| wide.contains(range))
}

/// The IPv4 addresses that a translator or tunnel would send this IPv6 address to.
fn embedded(ip: Ipv6Addr) -> impl Iterator<Item = Ipv4Addr> {
    let [_, b, c, d, _, _, g, h] = ip.segments();
    let join = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    let octets = ip.octets();
    let isatap = matches!(octets, [_, _, _, _, _, _, _, _, 0 | 2, 0, 0x5e, 0xfe, ..]);
    let within = |ranges: &[Ipv6Net]| ranges.iter().any(|range| range.contains(&ip));

    let last =
        (isatap || within(&[COMPATIBLE, TRANSLATED, NAT64, LOCAL_NAT64])).then(|| join(g, h));
    let six_to_four = within(&[SIX_TO_FOUR]).then(|| join(b, c));
    // After a /48, RFC 6052 splits the address around the byte that must be zero.
    let [_, _, _, _, _, _, o6, o7, _, o9, o10, ..] = octets;
    let split = within(&[LOCAL_NAT64]).then(|| Ipv4Addr::new(o6, o7, o9, o10));
    // Teredo contains its server's address as is and its client's with every bit flipped.
    let teredo = within(&[TEREDO]);
    let server = teredo.then(|| join(c, d));
    let client = teredo.then(|| join(!g, !h));
    [last, six_to_four, split, server, client]
        .into_iter()
        .flatten()
}
