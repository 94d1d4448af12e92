//! The figures that documents quote. A document marks each place: `<!-- costs:table -->` … `<!-- /costs -->`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use postrider_aws_bill::idle::STACK;
use postrider_aws_bill::markdown::{self, Row};
use postrider_aws_bill::{Assumptions, Bill, Item, Prices, Units};
use postrider_gateway::keyring::LAST_USE_PRECISION;

use super::cases::{BUSY, Load, cases};
use super::site::Site;

const END: &str = "<!-- /costs -->";

/// The rows of the table in the README.
const IN_README: [&str; 4] = [
    "1 KB, session",
    "10 KB, GitHub",
    "1 KB, two retries",
    "1 KB, fan-out to ten, each",
];

/// The documents that quote figures.
pub(crate) fn documents() -> [PathBuf; 3] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    ["README.md", "docs/operations.md", "docs/performance.md"].map(|path| root.join(path))
}

/// All that was counted.
pub(crate) struct Report {
    rows: Vec<Row>,
    tick: Units,
    assumed: Assumptions,
    prices: Prices,
}

impl Report {
    pub(crate) async fn count() -> Self {
        let cases = cases();
        let mut rows = Vec::with_capacity(cases.len());
        for case in &cases {
            rows.push(case.row().await);
        }
        Self {
            rows,
            tick: Site::open(&cases[0], Load::Quiet).await.idle_tick().await,
            assumed: Assumptions::default(),
            prices: Prices::us_east_1(),
        }
    }

    /// Each quoted text by its name.
    pub(crate) fn quotes(&self) -> BTreeMap<&'static str, String> {
        let (rows, assumed, prices) = (&self.rows, &self.assumed, &self.prices);
        let idle = Bill::of(&STACK.month(self.tick, assumed), prices);
        BTreeMap::from([
            ("table", block(&markdown::table(rows, assumed, prices))),
            (
                "breakdown",
                block(&markdown::breakdown(&rows[0], assumed, prices)),
            ),
            ("short-table", block(&self.short_table())),
            ("idle", block(&markdown::lines("an idle month", &idle))),
            ("assumptions", block(&self.assumptions())),
            ("range", markdown::range(rows, assumed, prices)),
            ("rounded", markdown::rounded_range(rows, assumed, prices)),
            ("idle-total", format!("${:.2}", idle.total())),
        ])
    }

    fn short_table(&self) -> String {
        let quoted = |row: &&Row| IN_README.contains(&row.name.as_str());
        let rows: Vec<_> = self.rows.iter().filter(quoted).cloned().collect();
        assert_eq!(rows.len(), IN_README.len());
        markdown::short_table(&rows, &self.assumed, &self.prices)
    }

    fn assumptions(&self) -> String {
        let mut sentences = vec![
            format!(
                "Prices of {} without free tiers and volume discounts. One event for one webhook, unless the row says \
                 otherwise; bodies are JSON, orders unless the row names another kind.",
                self.prices.region,
            ),
            format!(
                "Quiet: half a minute between events, so every cache has expired and every queue message and change is handled \
                 alone, except that the watcher gets those of two minutes together. Busy: {BUSY} deliveries at once, attempted \
                 ten per batch, with all changes in one batch.",
            ),
            "A failed attempt gets a 503 with the longest response that is kept; each retried delivery goes to another \
             webhook, so that credit, health and counters are written for each."
                .to_owned(),
            "Items are stored until they expire, with 100 bytes added per item and index entry."
                .to_owned(),
        ];
        sentences.extend(self.assumed.sentences());
        let metrics = STACK.metrics_with_traffic;
        sentences.push(format!(
            "Not in these tables: from the first delivery on, the publisher and the watcher write {metrics} more custom metrics, \
             ${:.2} a month.",
            f64::from(metrics) * self.prices.of(Item::Metrics),
        ));
        sentences.push(format!(
            "The last use of an API key is noted once in {} minutes. Quiet events share that write; busy ones are so many that it \
             does not matter.",
            LAST_USE_PRECISION.get() / 60_000,
        ));
        let bullets = sentences.iter().map(|sentence| format!("- {sentence}\n"));
        bullets.collect()
    }
}

fn block(text: &str) -> String {
    format!("\n\n{text}\n")
}

/// The document with the current figures at each marked place; the names of those places.
pub(crate) fn quote(document: &str, quotes: &BTreeMap<&str, String>) -> (String, Vec<String>) {
    let (mut text, mut names) = (String::new(), Vec::new());
    let mut rest = document;
    while let Some((before, marked)) = rest.split_once("<!-- costs:") {
        let (name, marked) = marked.split_once(" -->").unwrap();
        let (_, after) = marked.split_once(END).unwrap();
        let figure = quotes
            .get(name)
            .unwrap_or_else(|| panic!("no figure is called {name}"));
        text.push_str(&format!("{before}<!-- costs:{name} -->{figure}{END}"));
        names.push(name.to_owned());
        rest = after;
    }
    text.push_str(rest);
    (text, names)
}
