//! Known ways around egress rules, each a case in a table, and the general properties.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};
use proptest::prelude::*;

use super::address::with_embedded;
use super::{Blocked, Rules, Settings, SettingsError, UrlScheme};

/// URLs that the default rules block, with a part of the reason.
const BLOCKED: &[(&str, &str)] = &[
    // Loopback in every spelling that URL parsers accept.
    ("https://127.0.0.1/", "127.0.0.1 is loopback (127.0.0.0/8)"),
    ("https://127.0.0.1", "loopback"),
    ("https://2130706433/", "127.0.0.1 is loopback"),
    ("https://0x7f000001/", "127.0.0.1 is loopback"),
    ("https://0X7F000001/", "127.0.0.1 is loopback"),
    ("https://017700000001/", "127.0.0.1 is loopback"),
    ("https://0x7f.1/", "127.0.0.1 is loopback"),
    ("https://0x7f.0x0.0x0.0x1/", "127.0.0.1 is loopback"),
    ("https://0177.0.0.1/", "127.0.0.1 is loopback"),
    ("https://0177.0.0.01/", "127.0.0.1 is loopback"),
    ("https://127.1/", "127.0.0.1 is loopback"),
    ("https://127.0.1/", "127.0.0.1 is loopback"),
    ("https://127.255.255.254/", "loopback"),
    ("https://①②⑦.⓪.⓪.①/", "127.0.0.1 is loopback"),
    ("https://127。0。0。1/", "127.0.0.1 is loopback"),
    ("https://127．0．0．1/", "127.0.0.1 is loopback"),
    ("https://127｡0｡0｡1/", "127.0.0.1 is loopback"),
    ("https://127.0.0.1./", "127.0.0.1 is loopback"),
    ("https://%31%32%37.0.0.1/", "127.0.0.1 is loopback"),
    ("https://127.0.0.1%2e/", "127.0.0.1 is loopback"),
    ("https:127.0.0.1/", "loopback"),
    ("https:/127.0.0.1/", "loopback"),
    ("https:///127.0.0.1/", "loopback"),
    ("https:////127.0.0.1/", "loopback"),
    (r"https:\\127.0.0.1\", "loopback"),
    (r"https:/\127.0.0.1/", "loopback"),
    (r"https://127.0.0.1\@example.com/", "loopback"),
    ("  https://127.0.0.1/  ", "loopback"),
    ("ht\ntps://127.0\t.0.1/", "loopback"),
    ("HTTPS://127.0.0.1/", "loopback"),
    ("https://127.0.0.1:9001/", "loopback"),
    ("https://127.0.0.1?@example.com/", "loopback"),
    ("https://example.com@127.0.0.1/", "user name"),
    ("https://example.com:443@127.0.0.1/", "user name"),
    ("https://127.0.0.1#@example.com/", "fragment"),
    ("http:127.0.0.1/", "loopback"),
    ("http:///127.0.0.1/", "loopback"),
    (r"http:\\127.0.0.1\", "loopback"),
    ("http://127.0.0.1:6379/", "loopback"),
    // The unspecified address also reaches loopback.
    ("https://0/", "0.0.0.0 is unspecified (0.0.0.0/8)"),
    ("https://0.0.0.0/", "unspecified"),
    ("https://0x0/", "unspecified"),
    ("https://0.1.2.3/", "unspecified"),
    // The rest of IPv4.
    ("https://10.0.0.1/", "10.0.0.1 is private (10.0.0.0/8)"),
    ("https://10.255.255.255/", "private"),
    ("https://012.0.0.1/", "10.0.0.1 is private"),
    (
        "https://100.64.0.1/",
        "shared address space (100.64.0.0/10)",
    ),
    ("https://100.127.255.255/", "shared"),
    ("https://100.100.100.200/", "shared"),
    ("https://169.254.0.1/", "link-local (169.254.0.0/16)"),
    (
        "https://169.254.169.254/latest/meta-data/",
        "169.254.169.254 is link-local",
    ),
    ("https://2852039166/", "169.254.169.254 is link-local"),
    ("https://0xa9fea9fe/", "169.254.169.254 is link-local"),
    (
        "https://0251.0376.0251.0376/",
        "169.254.169.254 is link-local",
    ),
    ("https://169.254.43518/", "169.254.169.254 is link-local"),
    ("https://169.16689662/", "169.254.169.254 is link-local"),
    ("https://169.254.170.2/", "link-local"),
    ("https://169.254.170.23/", "link-local"),
    ("https://172.16.0.1/", "private (172.16.0.0/12)"),
    ("https://172.31.255.255/", "private"),
    (
        "https://192.0.0.1/",
        "reserved for protocol assignments (192.0.0.0/24)",
    ),
    ("https://192.0.0.192/", "reserved for protocol assignments"),
    ("https://192.0.2.1/", "documentation (192.0.2.0/24)"),
    ("https://192.31.196.1/", "AS112 (192.31.196.0/24)"),
    ("https://192.52.193.1/", "AMT (192.52.193.0/24)"),
    ("https://192.88.99.1/", "6to4 relay (192.88.99.0/24)"),
    ("https://192.168.0.1/", "private (192.168.0.0/16)"),
    ("https://192.168.255.255/", "private"),
    ("https://3232235777/", "192.168.1.1 is private"),
    ("https://192.175.48.1/", "AS112 (192.175.48.0/24)"),
    ("https://198.18.0.1/", "benchmarks (198.18.0.0/15)"),
    ("https://198.19.255.255/", "benchmarks"),
    ("https://198.51.100.7/", "documentation (198.51.100.0/24)"),
    ("https://203.0.113.7/", "documentation (203.0.113.0/24)"),
    ("https://224.0.0.1/", "multicast (224.0.0.0/4)"),
    ("https://239.255.255.250/", "multicast"),
    ("https://240.0.0.1/", "reserved (240.0.0.0/4)"),
    ("https://255.255.255.255/", "reserved"),
    (
        "https://168.63.129.16/",
        "cloud metadata (168.63.129.16/32)",
    ),
    // IPv6, and IPv4 embedded in it.
    ("https://[::1]/", "::1 is loopback (::1/128)"),
    ("https://[0:0:0:0:0:0:0:1]/", "loopback"),
    ("https://[::]/", "unspecified (::/128)"),
    ("https://[::ffff:7f00:1]/", "127.0.0.1 is loopback"),
    ("https://[::ffff:127.0.0.1]/", "127.0.0.1 is loopback"),
    (
        "https://[::FFFF:a9fe:a9fe]/",
        "169.254.169.254 is link-local",
    ),
    ("https://[::ffff:10.1.2.3]/", "10.1.2.3 is private"),
    ("https://[::127.0.0.1]/", "IPv4-compatible"),
    ("https://[::8.8.8.8]/", "IPv4-compatible address (::/96)"),
    ("https://[::ffff:0:127.0.0.1]/", "IPv4-translated"),
    (
        "https://[64:ff9b::a9fe:a9fe]/",
        "NAT64 address (64:ff9b::/96)",
    ),
    ("https://[64:ff9b::8.8.8.8]/", "NAT64"),
    (
        "https://[64:ff9b:1::a9fe:a9fe]/",
        "local NAT64 address (64:ff9b:1::/48)",
    ),
    ("https://[100::1]/", "discard-only (100::/64)"),
    ("https://[2001:0:7f00:1::]/", "Teredo address (2001::/32)"),
    ("https://[2001:0:4136:e378:8000:63bf:80ff:fffe]/", "Teredo"),
    (
        "https://[2001:20::1]/",
        "reserved for protocol assignments (2001::/23)",
    ),
    (
        "https://[2001:1ff::1]/",
        "reserved for protocol assignments",
    ),
    ("https://[2001:db8::1]/", "documentation (2001:db8::/32)"),
    ("https://[2002:7f00:1::]/", "6to4 address (2002::/16)"),
    ("https://[2002:a9fe:a9fe::1]/", "6to4"),
    ("https://[2620:4f:8000::1]/", "AS112 (2620:4f:8000::/48)"),
    ("https://[3fff::1]/", "documentation (3fff::/20)"),
    ("https://[3fff:fff:ffff::1]/", "documentation"),
    ("https://[5f00::1]/", "segment routing (5f00::/16)"),
    ("https://[fc00::1]/", "private (fc00::/7)"),
    ("https://[fd12:3456:789a::1]/", "private"),
    ("https://[fd00:ec2::254]/", "cloud metadata (fd00:ec2::/32)"),
    ("https://[fd00:ec2::23]/", "cloud metadata"),
    ("https://[fd20:ce::254]/", "private"),
    ("https://[fe80::1]/", "link-local (fe80::/10)"),
    ("https://[febf::1]/", "link-local"),
    ("https://[fec0::1]/", "site-local (fec0::/10)"),
    ("https://[ff02::1]/", "multicast (ff00::/8)"),
    (
        "https://[4000::1]/",
        "4000::1 is not public (outside 2000::/3)",
    ),
    ("https://[1::1]/", "not public"),
    ("https://[8000::1]/", "not public"),
    (
        "https://[2a00:1450::5efe:127.0.0.1]/",
        "contains 127.0.0.1, which is loopback (127.0.0.0/8)",
    ),
    (
        "https://[2a00:1450::200:5efe:a00:1]/",
        "contains 10.0.0.1, which is private",
    ),
    ("https://[fe80::1%25eth0]/", "is not valid"),
    ("https://[::1/", "is not valid: invalid IPv6 address"),
    ("https://[]/", "is not valid"),
    // Names that only a local network resolves.
    ("https://localhost/", "names ending in `localhost`"),
    ("https://LOCALHOST./", "names ending in `localhost`"),
    ("https://ⓛocalhost/", "names ending in `localhost`"),
    ("https://loc%61lhost/", "names ending in `localhost`"),
    ("https://a.localhost/", "names ending in `localhost`"),
    ("https://a.b.localhost./", "names ending in `localhost`"),
    ("https://printer.local/", "names ending in `local`"),
    ("https://printer.LOCAL./", "names ending in `local`"),
    ("https://local/", "names ending in `local`"),
    (
        "https://metadata.google.internal/",
        "names ending in `internal`",
    ),
    (
        "https://host.docker.internal./",
        "names ending in `internal`",
    ),
    ("https://router.home.arpa/", "names ending in `home.arpa`"),
    ("https://home.arpa/", "names ending in `home.arpa`"),
    ("https://metadata/", "single label"),
    ("https://com./", "single label"),
    ("https://kubernetes/", "single label"),
    ("https://localhost../", "not a valid name"),
    ("https://a..example.com/", "not a valid name"),
    ("https://.example.com/", "not a valid name"),
    ("https://*.example.com/", "not a valid name"),
    ("https://a$b.example.com/", "not a valid name"),
    // Forms.
    ("http://example.com/", "plain http is not allowed"),
    ("http://93.184.215.14/", "plain http is not allowed"),
    (
        "gopher://127.0.0.1:6379/",
        "the scheme `gopher` is not allowed",
    ),
    ("file:///etc/passwd", "the scheme `file`"),
    ("ftp://example.com/", "the scheme `ftp`"),
    ("ws://example.com/", "the scheme `ws`"),
    ("wss://example.com/", "the scheme `wss`"),
    ("dict://127.0.0.1:11211/", "the scheme `dict`"),
    ("ldap://127.0.0.1/", "the scheme `ldap`"),
    ("unix:/var/run/docker.sock", "the scheme `unix`"),
    ("data:text/plain,hello", "the scheme `data`"),
    ("javascript:alert(1)", "the scheme `javascript`"),
    ("blob:https://example.com/", "the scheme `blob`"),
    (
        "view-source:https://example.com/",
        "the scheme `view-source`",
    ),
    ("jar:https://127.0.0.1!/", "the scheme `jar`"),
    ("localhost:8080/", "the scheme `localhost`"),
    (
        "example.com/hook",
        "is not valid: it must start with https://",
    ),
    ("//example.com/hook", "is not valid"),
    ("", "is not valid"),
    ("https://", "is not valid"),
    ("https://?", "is not valid"),
    ("https://user:pass@example.com/", "user name"),
    ("https://user@example.com/", "user name"),
    ("https://:pass@example.com/", "user name"),
    ("https://%40@example.com/", "user name"),
    ("https://example.com/#top", "fragment"),
    ("https://example.com/#", "fragment"),
    ("https://example.com:0/", "port 0 is not allowed"),
    (
        "https://example.com:22/",
        "port 22 is not allowed; use one of 80, 443",
    ),
    ("https://example.com:8443/", "port 8443"),
    ("https://93.184.215.14:9200/", "port 9200"),
    ("https://example.com:65536/", "is not valid"),
    ("https://example.com:-1/", "is not valid"),
    ("https://1.2.3.4.5/", "is not valid"),
    ("https://256.256.256.256/", "is not valid"),
    ("https://4294967296/", "is not valid"),
    ("https://127.0.0.0x100/", "is not valid"),
    ("https://exa mple.com/", "is not valid"),
    ("https://example.com\u{0}.evil.test/", "is not valid"),
];

/// URLs that the default rules accept, with what is stored and sent.
const ACCEPTED: &[(&str, &str)] = &[
    ("https://example.com", "https://example.com/"),
    (
        "https://example.com/hook?token=1&b=%20",
        "https://example.com/hook?token=1&b=%20",
    ),
    ("https://example.com:443/", "https://example.com/"),
    ("https://example.com:80/", "https://example.com:80/"),
    ("HTTPS://EXAMPLE.com/A", "https://example.com/A"),
    ("https://example.com./", "https://example.com./"),
    ("https://@example.com/", "https://example.com/"),
    ("https://bücher.example/", "https://xn--bcher-kva.example/"),
    (
        "https://ex_ample.example.com/",
        "https://ex_ample.example.com/",
    ),
    ("https://mylocalhost.com/", "https://mylocalhost.com/"),
    (
        "https://localhost.example.com/",
        "https://localhost.example.com/",
    ),
    (
        "https://local.internal.example/",
        "https://local.internal.example/",
    ),
    ("https://example.com/a/../b", "https://example.com/b"),
    (r"https:\\example.com\a", "https://example.com/a"),
    ("https://8.8.8.8/", "https://8.8.8.8/"),
    ("https://134744072/", "https://8.8.8.8/"),
    ("https://1.0.0.1/", "https://1.0.0.1/"),
    ("https://9.255.255.255/", "https://9.255.255.255/"),
    ("https://11.0.0.0/", "https://11.0.0.0/"),
    ("https://100.63.255.255/", "https://100.63.255.255/"),
    ("https://100.128.0.0/", "https://100.128.0.0/"),
    ("https://126.255.255.255/", "https://126.255.255.255/"),
    ("https://128.0.0.1/", "https://128.0.0.1/"),
    ("https://168.63.129.15/", "https://168.63.129.15/"),
    ("https://169.253.255.255/", "https://169.253.255.255/"),
    ("https://172.15.255.255/", "https://172.15.255.255/"),
    ("https://172.32.0.0/", "https://172.32.0.0/"),
    ("https://192.167.255.255/", "https://192.167.255.255/"),
    ("https://198.17.255.255/", "https://198.17.255.255/"),
    ("https://198.20.0.0/", "https://198.20.0.0/"),
    ("https://223.255.255.255/", "https://223.255.255.255/"),
    (
        "https://[2606:4700:4700::1111]/",
        "https://[2606:4700:4700::1111]/",
    ),
    (
        "https://[2001:4860:4860:0:0:0:0:8888]/",
        "https://[2001:4860:4860::8888]/",
    ),
    ("https://[2001:200::1]/", "https://[2001:200::1]/"),
    (
        "https://[2a00:1450::5efe:8.8.8.8]/",
        "https://[2a00:1450::5efe:808:808]/",
    ),
    ("https://[::ffff:8.8.8.8]/", "https://[::ffff:808:808]/"),
];

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn allowing(texts: &[&str]) -> Rules {
    Rules::new(Settings {
        allow: nets(texts),
        ..Settings::default()
    })
    .unwrap()
}

#[test]
fn every_url_in_the_tables_is_blocked_or_accepted_as_listed() {
    let rules = Rules::default();
    let mut wrong = Vec::new();
    for (text, reason) in BLOCKED {
        match rules.check_url(text) {
            Err(blocked) if blocked.to_string().contains(reason) => {}
            other => wrong.push(format!("{text:?}: expected `{reason}`, got {other:?}")),
        }
    }
    for (text, stored) in ACCEPTED {
        match rules.check_url(text) {
            Ok(url) if url.as_str() == *stored => {}
            other => wrong.push(format!("{text:?}: expected {stored}, got {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(BLOCKED.len() + ACCEPTED.len() > 200);
}

#[test]
fn lengths_are_limited_before_and_after_parsing() {
    let rules = Rules::default();
    let url_of = |chars: usize| {
        format!(
            "https://example.com/{}",
            "a".repeat(chars - "https://example.com/".len())
        )
    };
    assert!(rules.check_url(&url_of(2048)).is_ok());
    assert_eq!(
        rules.check_url(&url_of(2049)),
        Err(Blocked::TooLong { chars: 2049 })
    );
    let grows = format!("https://example.com/{}", "ü".repeat(400));
    assert_eq!(
        rules.check_url(&grows),
        Err(Blocked::TooLong {
            chars: 20 + 400 * 6
        })
    );
    let long_label = format!("https://{}.example.com/", "a".repeat(64));
    assert!(rules.check_url(&long_label).is_err());
    let long_name = format!("https://{}com/", "abcdefghi.".repeat(26));
    assert!(rules.check_url(&long_name).is_err());
}

#[test]
fn a_host_name_has_at_most_253_characters() {
    let of = |chars: usize| {
        let labels = format!("{}.", "a".repeat(49)).repeat(5);
        let name = format!("{labels}{}", "b".repeat(chars - labels.len()));
        Rules::default().check_url(&format!("https://{name}/"))
    };
    assert!(of(253).is_ok());
    assert_eq!(of(254), Err(Blocked::BadName));
}

#[test]
fn a_reason_reveals_an_address_exactly_if_it_names_one() {
    let rules = Rules::new(Settings {
        deny: nets(&["198.41.0.0/24"]),
        ..Settings::default()
    });
    let rules = rules.unwrap();
    for (url, named) in [
        ("https://10.0.0.1/", Some("10.0.0.1")),
        ("https://[64:ff9b::a00:1]/", Some("64:ff9b::a00:1")),
        ("https://198.41.0.4/", Some("198.41.0.4")),
        ("https://[4000::1]/", Some("4000::1")),
        ("https://db.internal/", None),
        ("https://hooks/", None),
        ("http://example.com/", None),
        ("https://example.com:22/", None),
        ("https:", None),
    ] {
        let blocked = rules.check_url(url).unwrap_err();
        assert_eq!(blocked.reveals_address(), named.is_some(), "{blocked}");
        let text = blocked.to_string();
        assert!(text.contains(named.unwrap_or_default()), "{text}");
    }
}

#[test]
fn plain_http_and_extra_ports_work_once_the_operator_allows_them() {
    let settings = Settings {
        http_allowed: true,
        extra_ports: vec![8443],
        ..Settings::default()
    };
    let rules = Rules::new(settings).unwrap();
    for open in [
        "http://example.com/",
        "http://example.com:8443/",
        "https://example.com:8443/",
        "http://8.8.8.8:443/",
    ] {
        assert!(rules.check_url(open).is_ok(), "{open}");
    }
    for closed in [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://example.com:8444/",
        "http://[::1]:8443/",
    ] {
        assert!(rules.check_url(closed).is_err(), "{closed}");
    }
    assert!(Rules::default().check_url("http://example.com/").is_err());
}

#[test]
fn an_allowed_address_may_be_reached_on_any_port_and_over_plain_http() {
    let rules = allowing(&["127.0.0.1/32", "10.0.0.0/8", "::1/128", "fd12::/16"]);
    for open in [
        "http://127.0.0.1:9001/",
        "https://127.0.0.1/",
        "http://2130706433:1/",
        "http://[::ffff:127.0.0.1]:9001/",
        "http://10.9.8.7:8080/",
        "http://[::ffff:10.9.8.7]/",
        "http://[::1]:3000/",
        "http://[fd12::1]/",
    ] {
        assert!(
            rules.check_url(open).is_ok(),
            "{open}: {:?}",
            rules.check_url(open)
        );
    }
    for closed in [
        "http://127.0.0.2:9001/",
        "http://11.0.0.1/",
        "https://11.0.0.1:8080/",
        "http://192.168.0.1/",
        "http://[::2]/",
        "http://127.0.0.1:0/",
        "http://localhost/",
        "http://intranet/",
        "http://name.example:0/",
        "gopher://127.0.0.1/",
    ] {
        assert!(rules.check_url(closed).is_err(), "{closed}");
    }
}

#[test]
fn loopback_link_local_and_metadata_addresses_need_an_exact_entry() {
    let wide = allowing(&["0.0.0.0/0", "::/0"]);
    for closed in [
        "127.0.0.1",
        "0.0.0.0",
        "169.254.169.254",
        "169.254.1.1",
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "::1",
        "::",
        "::127.0.0.1",
        "fe80::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1:7f00:0:100::",
        "2002:a9fe:a9fe::",
        "2001:0:7f00:1::1",
        "2a00::5efe:7f00:1",
    ] {
        assert!(
            wide.check_address(closed.parse().unwrap(), UrlScheme::Https, 443)
                .is_err(),
            "{closed}"
        );
        let exact = Settings {
            allow: vec![IpNet::from(closed.parse::<IpAddr>().unwrap())],
            ..Settings::default()
        };
        let exact = Rules::new(exact).unwrap();
        assert_eq!(
            exact.check_address(closed.parse().unwrap(), UrlScheme::Http, 1),
            Ok(()),
            "{closed}"
        );
    }
    for open in [
        "10.0.0.1",
        "192.168.1.1",
        "100.100.100.201",
        "fd12::1",
        "64:ff9b::808:808",
    ] {
        assert_eq!(
            wide.check_address(open.parse().unwrap(), UrlScheme::Http, 8080),
            Ok(()),
            "{open}"
        );
    }
}

#[test]
fn a_denied_range_is_blocked_however_wide_the_allowed_ones_are() {
    let rules = Rules::new(Settings {
        allow: nets(&["0.0.0.0/0", "::/0", "10.117.1.2/32"]),
        deny: nets(&["10.117.0.0/22", "2001:db8:7::/48"]),
        ..Settings::default()
    });
    let rules = rules.unwrap();
    let check = |text: &str| {
        let ip: IpAddr = text.parse().unwrap();
        rules.check_address(ip, UrlScheme::Https, 443)
    };
    assert_eq!(
        check("10.200.0.1"),
        Ok(()),
        "other private addresses stay allowed"
    );
    let denied = [
        "10.117.1.2",
        "::ffff:10.117.3.255",
        "64:ff9b::10.117.0.1",
        "2001:db8:7::1",
    ];
    for ip in denied {
        assert!(matches!(check(ip), Err(Blocked::Denied { .. })), "{ip}");
    }
    assert!(rules.check_url("https://10.117.0.1/").is_err());
}

#[test]
fn a_name_is_checked_by_its_addresses_once_a_range_is_allowed() {
    let rules = allowing(&["10.0.0.0/8"]);
    assert!(rules.check_url("http://hooks.example.com:8080/").is_ok());
    let at = |ip: &str| rules.check_address(ip.parse().unwrap(), UrlScheme::Http, 8080);
    assert_eq!(at("10.1.1.1"), Ok(()));
    assert_eq!(at("8.8.8.8"), Err(Blocked::PlainHttp));
    assert!(matches!(at("192.168.0.1"), Err(Blocked::Blocked { .. })));
    assert!(matches!(
        rules.check_address("8.8.8.8".parse().unwrap(), UrlScheme::Https, 8080),
        Err(Blocked::Port { port: 8080, .. })
    ));
}

#[test]
fn settings_without_effect_are_all_reported_at_once() {
    let settings = Settings {
        allow: nets(&[
            "127.0.0.0/8",
            "10.0.0.0/8",
            "fe80::/64",
            "::ffff:169.254.0.0/112",
        ]),
        extra_ports: vec![8443, 0],
        ..Settings::default()
    };
    let useless = |text: &str| SettingsError::AllowOpensNothing(text.parse().unwrap());
    assert_eq!(
        Rules::new(settings).unwrap_err(),
        [
            useless("127.0.0.0/8"),
            useless("fe80::/64"),
            useless("169.254.0.0/16"),
            SettingsError::PortZero
        ]
    );
}

#[test]
fn a_range_with_host_bits_or_as_mapped_ipv6_works() {
    let rules = allowing(&["10.1.2.3/8", "::ffff:192.168.0.0/112"]);
    assert_eq!(
        rules.check_address("10.200.0.1".parse().unwrap(), UrlScheme::Http, 80),
        Ok(())
    );
    assert_eq!(
        rules.check_address("192.168.3.4".parse().unwrap(), UrlScheme::Http, 80),
        Ok(())
    );
    assert!(
        rules
            .check_address("192.169.0.1".parse().unwrap(), UrlScheme::Http, 80)
            .is_err()
    );
}

#[test]
fn no_reason_repeats_the_query() {
    let rules = Rules::default();
    for (text, _) in BLOCKED {
        let with_query = format!("{text}?token=s3cret");
        if let Err(blocked) = rules.check_url(&with_query) {
            assert!(!blocked.to_string().contains("s3cret"), "{text}: {blocked}");
        }
    }
}

const BLOCKED_V4: [&str; 19] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "168.63.129.16/32",
];

fn blocked_v4() -> impl Strategy<Value = Ipv4Addr> {
    (proptest::sample::select(&BLOCKED_V4[..]), any::<u32>()).prop_map(|(range, bits)| {
        let range: Ipv4Net = range.parse().unwrap();
        Ipv4Addr::from_bits(range.network().to_bits() | (bits & range.hostmask().to_bits()))
    })
}

fn is_blocked(ip: impl Into<IpAddr>) -> bool {
    Rules::default()
        .check_address(ip.into(), UrlScheme::Https, 443)
        .is_err()
}

/// The examples of RFC 6052, RFC 3056, RFC 4380 (which flips the bits of the client's address) and RFC 5214.
#[test]
fn the_addresses_within_an_address_are_found() {
    for (ip, inner) in [
        ("64:ff9b::c000:221", &["192.0.2.33"][..]),
        ("2002:c000:221::1", &["192.0.2.33"]),
        (
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            &["65.54.227.120", "192.0.2.45"],
        ),
        ("2001:db8::5efe:c000:221", &["192.0.2.33"]),
        ("2001:db8::c000:221", &[]),
    ] {
        let ip: IpAddr = ip.parse().unwrap();
        let found: Vec<_> = with_embedded(ip).skip(1).collect();
        let expected: Vec<IpAddr> = inner.iter().map(|one| one.parse().unwrap()).collect();
        assert_eq!(found, expected, "{ip}");
    }
}

proptest! {
    #[test]
    fn a_blocked_ipv4_address_is_blocked_in_every_disguise(ip in blocked_v4(), prefix: [u16; 4]) {
        let [a, b, c, d] = ip.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        prop_assert!(is_blocked(ip));
        prop_assert!(is_blocked(ip.to_ipv6_mapped()));
        prop_assert!(is_blocked(ip.to_ipv6_compatible()));
        prop_assert!(is_blocked(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low)), "NAT64");
        prop_assert!(is_blocked(Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1)), "6to4");
        prop_assert!(is_blocked(Ipv6Addr::new(0x2001, 0, high, low, 0, 0, !high, !low)), "Teredo");
        let [p0, p1, p2, p3] = prefix;
        prop_assert!(is_blocked(Ipv6Addr::new(p0, p1, p2, p3, 0, 0x5efe, high, low)), "ISATAP");

        let rules = Rules::default();
        for url in [
            format!("https://{ip}/"),
            format!("https://{}/", ip.to_bits()),
            format!("https://{:#x}/", ip.to_bits()),
            format!("https://0{a:o}.{b}.{c:#x}.0{d:o}/"),
            format!("https://[::ffff:{ip}]/"),
        ] {
            prop_assert!(rules.check_url(&url).is_err(), "{}", url);
        }
    }

    #[test]
    fn only_ipv6_addresses_within_2000_3_can_be_reached(bits: u128) {
        let ip = Ipv6Addr::from_bits(bits);
        if ip.to_ipv4_mapped().is_none() && bits >> 125 != 1 {
            prop_assert!(is_blocked(ip));
        }
    }

    #[test]
    fn an_ipv4_address_and_its_mapped_form_get_the_same_result(bits: u32) {
        let ip = Ipv4Addr::from_bits(bits);
        prop_assert_eq!(is_blocked(ip), is_blocked(ip.to_ipv6_mapped()));
    }

    #[test]
    fn no_text_makes_the_check_panic(text: String) {
        let _ = Rules::default().check_url(&text);
        let _ = Rules::default().check_url(&format!("https://{text}"));
    }

    #[test]
    fn an_accepted_url_is_accepted_again_unchanged(text in "https://[ -~]{1,40}\\.com[ -~]{0,20}") {
        let rules = Rules::default();
        if let Ok(url) = rules.check_url(&text) {
            prop_assert_eq!(rules.check_url(url.as_str()), Ok(url));
        }
    }
}
