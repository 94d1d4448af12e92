//! A page costs the same however many rows there are: pages of lists, and pages of the Inspector.

use postrider_domain::delivery::Status;
use postrider_domain::event_catalogue::CatalogueDraft;
use postrider_domain::ids::{ErasureId, KeyId, TenantId};
use postrider_domain::tenant::{Tenant, TenantDraft, TenantLimits};
use postrider_domain::time::Millis;
use postrider_ports::Store;
use postrider_ports::configs::Changed;
use postrider_ports::erasures::{Erasure, Subject};
use postrider_ports::history::Filter;
use postrider_testkit::builders::NOW;

use crate::inspected::{self, Inspector};
use crate::many::Originals;
use crate::support::{Metered, Spent};

/// How much more a page of many rows may cost than one of few, because the shard boundaries differ.
const SLACK: f64 = 1.5;
/// How many a page lists.
const PAGE: usize = 50;

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

/// Lists that have no index of deliveries: tenants with their records, erasures, event types and usage.
#[tokio::test]
async fn a_page_of_any_other_list_reads_no_more_with_five_times_as_many() {
    let metered = Metered::start().await;
    let store = &metered.handle().store;
    let own = TenantId::default();
    let draft = CatalogueDraft::default();
    for n in 0..PAGE {
        let name = format!("order.{n:03}").parse().unwrap();
        let entry = draft.clone().check(name, NOW).unwrap();
        store.put_event_type(&own, entry).await.unwrap();
    }
    let mut units = Vec::new();
    let mut made = 0;
    for count in [100, 500] {
        for n in made..count {
            add_to_lists(store.as_ref(), n).await;
        }
        made = count;
        let after: TenantId = "m00050".parse().unwrap();
        let middle = erasure_id(60);
        metered.meter.take();
        assert_eq!(store.tenant_page(PAGE, None).await.unwrap().len(), PAGE);
        let tenants = metered.meter.take().reads;
        let found = store.tenant_page(PAGE - 2, Some(&after)).await.unwrap();
        assert_eq!(found.len(), PAGE - 2);
        let later_tenants = metered.meter.take().reads;
        assert_eq!(store.erasures(&own, PAGE, None).await.unwrap().len(), PAGE);
        let erasures = metered.meter.take().reads;
        let found = store.erasures(&own, PAGE, Some(middle)).await.unwrap();
        assert_eq!(found.len(), PAGE);
        let later_erasures = metered.meter.take().reads;
        assert_eq!(store.event_types(&own).await.unwrap().len(), PAGE);
        let event_types = metered.meter.take().reads;
        let day = NOW.minus(Millis::from_seconds(86_400));
        store.stats(&own, None, day, NOW).await.unwrap();
        let usage = metered.meter.take().reads;
        let spent = [
            tenants,
            later_tenants,
            erasures,
            later_erasures,
            event_types,
            usage,
        ];
        println!("read units of a page with {count} in each list: {spent:?}");
        units.push(spent);
    }
    assert_eq!(units[0], units[1]);
    assert!(units[0].iter().all(|units| *units <= 80.0), "{units:?}");
}

/// A tenant with a record and an event type, and an erasure of the default tenant.
async fn add_to_lists(store: &dyn Store, n: u16) {
    let id: TenantId = format!("m{n:05}").parse().unwrap();
    let draft = TenantDraft {
        name: format!("Tenant {n}"),
        limits: TenantLimits::default(),
    };
    let tenant = Tenant::unrecorded(id.clone()).changed(&draft, NOW).unwrap();
    let stored = store.put_tenant(tenant, None).await;
    assert_eq!(stored, Ok(Changed::Done));
    let name = "order.paid".parse().unwrap();
    let entry = CatalogueDraft::default().check(name, NOW).unwrap();
    store.put_event_type(&id, entry).await.unwrap();
    let subject = Subject::Session { session_id: None };
    let key = KeyId::from_bytes([1; 16]);
    let erasure = Erasure {
        progress: None,
        ..Erasure::new(erasure_id(n), subject, key, NOW)
    };
    let own = TenantId::default();
    store.create_erasure(&own, erasure).await.unwrap();
}

fn erasure_id(n: u16) -> ErasureId {
    let mut bytes = [0; 16];
    bytes[14..].copy_from_slice(&n.to_be_bytes());
    ErasureId::from_bytes(bytes)
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
