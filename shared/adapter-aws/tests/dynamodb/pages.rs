//! A page costs the same however many rows there are: pages of lists, and pages of the Inspector.

use postrider_domain::delivery::Status;
use postrider_ports::history::Filter;

use crate::inspected::{self, Inspector};
use crate::many::Originals;
use crate::support::{Metered, Spent};

/// How much more a page of many rows may cost than one of few, because the shard boundaries differ.
const SLACK: f64 = 1.5;

#[tokio::test]
async fn a_page_of_twenty_thousand_rows_reads_no_more_than_one_of_a_thousand() {
    let metered = Metered::start().await;
    let (id, _) = metered.accept(None, 100).await;
    let dead = metered.scene.dead(metered.webhook).await;
    let originals = Originals::of(&metered, id, dead).await;
    let of_webhook = Filter {
        webhook_id: Some(id.webhook),
        ..Filter::default()
    };
    let inspector = Inspector::over(&metered).await;
    let paths = inspected::pages(id);
    let (mut lists, mut pages) = (Vec::new(), Vec::new());
    let mut made = 0;
    for rows in [1_000, 20_000] {
        originals.copy(&metered, made..rows).await;
        made = rows;
        let all = page(&metered, Filter::default()).await.reads;
        let of_one = page(&metered, of_webhook.clone()).await.reads;
        println!("a page of 50 out of {rows} rows: {all} read units, for one webhook {of_one}");
        lists.push((all, of_one));
        let mut units = Vec::new();
        for path in &paths {
            units.push(inspector.look(path).await);
        }
        pages.push(units);
    }
    assert_eq!(lists[0], lists[1]);
    assert!(lists[0].0 <= 80.0, "50 rows, and the index entries");
    println!("read units per Inspector page, with 1,000 and with 20,000 rows");
    for (path, (few, many)) in paths.iter().zip(pages[0].iter().zip(&pages[1])) {
        println!("{few:>8.1} {many:>8.1}  /inspector{path}");
        assert!(many <= &(few * SLACK), "/inspector{path}: {few}, {many}");
    }
}

async fn page(metered: &Metered, filter: Filter) -> Spent {
    metered.meter.take();
    let page = metered.scene.page(&filter, 50).await;
    let spent = metered.meter.take();
    assert!(page.next.is_some());
    assert_eq!(page.items.len(), 50);
    let dead = page.items.iter().filter(|row| row.status == Status::Dead);
    assert_eq!(dead.count(), 5);
    spent
}
