//! JSON bodies like those that gateways carry. How well a body compresses decides what it costs, so a repeated letter will
//! not do.

use std::fmt::Write as _;

use bytes::Bytes;

/// A kind of body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A pull request as GitHub sends it: mostly addresses that begin alike.
    GitHub,
    /// An order with its items.
    Order,
    /// The steps of an agent, with text.
    AgentTrace,
    /// Little but random ids.
    RandomIds,
}

impl Family {
    pub const ALL: [Self; 4] = [Self::GitHub, Self::Order, Self::AgentTrace, Self::RandomIds];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::Order => "orders",
            Self::AgentTrace => "agent traces",
            Self::RandomIds => "random ids",
        }
    }

    /// The `n`-th body of exactly this many bytes.
    #[must_use]
    pub fn body(self, n: u64, bytes: usize) -> Bytes {
        let mut drawn = Drawn(0x9e37_79b9_7f4a_7c15 ^ (n + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
        let mut text = "{".to_owned();
        for place in 0.. {
            let member = self.member(place, &mut drawn);
            if text.len() + member.len() + FILLER > bytes {
                break;
            }
            text.push_str(&member);
            text.push(',');
        }
        text.push_str("\"note\":\"");
        while text.len() + 2 < bytes {
            text.push_str(drawn.one_of(&WORDS));
            text.push(' ');
        }
        text.truncate(bytes.saturating_sub(2));
        text.push_str("\"}");
        text.into()
    }

    fn member(self, place: u64, drawn: &mut Drawn) -> String {
        match self {
            Self::GitHub => github(place, drawn),
            Self::Order => order(place, drawn),
            Self::AgentTrace => step(place, drawn),
            Self::RandomIds => format!("\"id_{place}\":\"{}\"", drawn.uuid()),
        }
    }
}

/// Bytes that do not deflate.
#[must_use]
pub fn random_bytes(n: u64, bytes: usize) -> Bytes {
    let mut drawn = Drawn(0x9e37_79b9_7f4a_7c15 ^ (n + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
    let numbers = std::iter::repeat_with(|| drawn.next().to_le_bytes());
    numbers.flatten().take(bytes).collect()
}

/// The room that the last member needs.
const FILLER: usize = 12;

const WORDS: [&str; 24] = [
    "the", "order", "was", "checked", "and", "a", "search", "for", "customer", "returned", "three",
    "results", "because", "of", "delivery", "address", "invoice", "could", "not", "be", "matched",
    "with", "payment", "again",
];

const GITHUB_LINKS: [&str; 24] = [
    "followers",
    "following",
    "gists",
    "starred",
    "subscriptions",
    "orgs",
    "repos",
    "events",
    "received_events",
    "forks",
    "keys",
    "collaborators",
    "teams",
    "hooks",
    "issue_events",
    "assignees",
    "branches",
    "tags",
    "blobs",
    "git_tags",
    "git_refs",
    "trees",
    "statuses",
    "languages",
];

fn github(place: u64, drawn: &mut Drawn) -> String {
    let (number, id) = (1300 + drawn.below(90), drawn.below(900_000_000));
    let api = "https://api.github.com/repos/octo-org/octo-repo";
    match place {
        0 => format!("\"action\":\"opened\",\"number\":{number}"),
        1 => format!("\"url\":\"{api}/pulls/{number}\",\"id\":{id}"),
        2 => format!("\"node_id\":\"PR_{}\"", drawn.hex(8)),
        3 => format!("\"html_url\":\"https://github.com/octo-org/octo-repo/pull/{number}\""),
        4 => "\"state\":\"open\",\"locked\":false,\"title\":\"Update the README with new information\"".to_owned(),
        5 => format!("\"head_sha\":\"{}\"", drawn.hex(20)),
        6 => "\"created_at\":\"2026-02-21T10:00:00Z\",\"updated_at\":\"2026-02-21T10:00:00Z\"".to_owned(),
        _ => {
            let at = usize::try_from(place).unwrap_or_default();
            let link = GITHUB_LINKS[at % GITHUB_LINKS.len()];
            match at / GITHUB_LINKS.len() % 3 {
                0 => format!("\"{link}_url\":\"https://api.github.com/users/octocat/{link}{{/other}}\""),
                1 => format!("\"repo_{link}_url\":\"{api}/{link}{{/sha}}\""),
                _ => format!("\"base_{place}_{link}_url\":\"{api}/{link}{{/sha}}\",\"base_{place}_id\":{id}"),
            }
        }
    }
}

fn order(place: u64, drawn: &mut Drawn) -> String {
    if place == 0 {
        return format!(
            "\"order_id\":\"ord_{}\",\"customer\":{{\"id\":\"cus_{}\",\"email\":\"{}.{}@example.com\"}},\"currency\":\"EUR\",\
             \"total\":{},\"status\":\"paid\",\"paid_at\":\"2026-02-21T10:00:00Z\"",
            drawn.hex(8),
            drawn.hex(8),
            drawn.one_of(&WORDS),
            drawn.one_of(&WORDS),
            drawn.below(100_000),
        );
    }
    format!(
        "\"item_{place}\":{{\"sku\":\"SKU-{}\",\"name\":\"{} {} {}\",\"quantity\":{},\"unit_price\":{},\"tax_rate\":19}}",
        drawn.hex(4),
        drawn.one_of(&WORDS),
        drawn.one_of(&WORDS),
        drawn.one_of(&WORDS),
        drawn.below(9) + 1,
        drawn.below(10_000),
    )
}

fn step(place: u64, drawn: &mut Drawn) -> String {
    let mut said = String::new();
    for _ in 0..18 {
        let _ = write!(said, "{} ", drawn.one_of(&WORDS));
    }
    format!(
        "\"step_{place}\":{{\"span\":\"{}\",\"tool\":\"{}\",\"took_ms\":{},\"tokens\":{},\"text\":\"{}\"}}",
        drawn.hex(8),
        drawn.one_of(&["search", "read_file", "write_file", "run_tests", "ask"]),
        drawn.below(9000),
        drawn.below(4000),
        said.trim_end(),
    )
}

/// Numbers that look random and are the same in every run.
struct Drawn(u64);

impl Drawn {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        let at = self.below(all.len() as u64);
        all[usize::try_from(at).unwrap_or_default()]
    }

    fn hex(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < 2 * bytes {
            let _ = write!(text, "{:016x}", self.next());
        }
        text.truncate(2 * bytes);
        text
    }

    fn uuid(&mut self) -> String {
        let hex = self.hex(16);
        let part = |from, to| hex.get(from..to).unwrap_or_default();
        format!(
            "{}-{}-{}-{}-{}",
            part(0, 8),
            part(8, 12),
            part(12, 16),
            part(16, 20),
            part(20, 32)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_json_of_the_size_asked_for_and_always_the_same() {
        for family in Family::ALL {
            for bytes in [600, 1024, 3072, 10_240] {
                let body = family.body(1, bytes);
                assert_eq!(body.len(), bytes, "{}", family.name());
                let parsed: serde_json::Value = serde_json::from_slice(&body).unwrap();
                assert!(parsed.is_object());
                assert_eq!(body, family.body(1, bytes));
                assert_ne!(body, family.body(2, bytes));
            }
        }
    }
}
