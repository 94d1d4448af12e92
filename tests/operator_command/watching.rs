//! `postrider top`.

use postrider_testkit::receiver::Answer;

use super::terminal::Terminal;
use super::{dead_delivery, impatient};
use crate::inbound_command::Stage;

const KEY_STATS: [&str; 5] = [
    "webhook_delivery_success_rate",
    "webhook_delivery_p95_latency",
    "webhook_retry_rate",
    "webhook_failed_count",
    "webhook_avg_retries_per_delivery",
];

#[tokio::test]
async fn the_view_is_live_and_responds_to_keys() {
    let stage = Stage::new().await;
    let webhook = impatient(&stage).await;
    let mut terminal = Terminal::start(&stage, (160, 30), &["top"]);
    let calm = terminal.shows("No recent failures").await;
    for key_stat in KEY_STATS {
        assert!(calm.contains(key_stat), "{key_stat} in\n{calm}");
    }

    let ids = [
        dead_delivery(&stage, &webhook).await,
        dead_delivery(&stage, &webhook).await,
        dead_delivery(&stage, &webhook).await,
    ];
    let screen = terminal.shows("NEEDING ATTENTION: 1 of 2").await;
    assert!(screen.contains("the last 3 attempts failed"), "{screen}");
    for id in &ids {
        assert!(screen.contains(id), "{id} in\n{screen}");
    }

    terminal.press("j").await;
    terminal.shows("▸ ✗ dead").await;
    terminal.press("\r").await;
    let screen = terminal.shows("esc back").await;
    assert!(
        screen.contains("WHY") && screen.contains("The receiver returned 500"),
        "{screen}"
    );
    terminal.press("\u{1b}").await;
    terminal.shows("RECENT FAILURES").await;

    terminal.press("p").await;
    terminal.shows("Paused").await;
    terminal.press("p").await;
    terminal.hides("Paused").await;

    stage.receiver.answer(Answer::status(200));
    terminal.press("r").await;
    terminal.shows("now? y/n").await;
    terminal.press("y").await;
    terminal.shows("Requeued").await;
    stage.gateway.settled(&ids[2]).await;
    terminal.press("k").await;
    terminal.hides(&ids[2]).await;

    terminal.resize(40, 12).await;
    let screen = terminal.shows("▸").await;
    assert!(
        screen.lines().all(|line| line.chars().count() <= 40),
        "{screen}"
    );
    terminal.press("q").await;
    let left = terminal.end().await;
    assert!(
        left.code == 0 && left.restored && left.colours,
        "{}",
        left.screen
    );
}

#[tokio::test]
async fn however_it_ends_the_terminal_is_restored() {
    let stage = Stage::new().await;
    for ending in ["\u{3}", "SIGTERM", "SIGINT"] {
        let plain = [("NO_COLOR", "1")];
        let mut terminal = Terminal::start_with(&stage, (80, 24), &["top"], &plain);
        terminal.shows("q quit").await;
        if ending.starts_with("SIG") {
            terminal.signal(ending).await;
        } else {
            terminal.press(ending).await;
        }
        let left = terminal.end().await;
        assert!(left.code == 0 && left.restored, "{ending:?}: {}", left.code);
        assert!(!left.colours, "NO_COLOR is set");
    }
}

#[tokio::test]
async fn a_lost_connection_is_shown_and_reestablished() {
    let data = tempfile::tempdir().unwrap();
    let mut stage = Stage::new().await;
    stage.gateway =
        crate::command::Serve::start_in(data.path(), &[crate::inbound_command::OPEN]).await;
    let relay = super::relay::Relay::to(&stage.gateway.url).await;
    let line = ["top", "--url", &relay.url];
    let mut terminal = Terminal::start(&stage, (120, 24), &line);
    terminal.shows("q quit").await;
    relay.cut();
    terminal.shows("reconnecting").await;
    relay.route_to(&stage.gateway.url);
    terminal.hides("reconnecting").await;
    terminal.press("q").await;
    assert_eq!(terminal.end().await.code, 0);
}

#[tokio::test]
async fn without_a_terminal_one_frame_is_printed() {
    let stage = Stage::new().await;
    let webhook = impatient(&stage).await;
    let id = dead_delivery(&stage, &webhook).await;
    for line in [&["top"][..], &["top", "--once", "--window", "24h"]] {
        let printed = stage.run(line).await.well();
        for part in KEY_STATS
            .into_iter()
            .chain([&*id, "HTTP status 500", "RECENT FAILURES"])
        {
            assert!(printed.out.contains(part), "{part} in\n{}", printed.out);
        }
        assert!(!printed.out.contains('\u{1b}') && printed.err.is_empty());
    }
    let refused = stage.run(&["top", "--window", "forever"]).await;
    assert_eq!(refused.code, 3);
    assert!(refused.err.contains("window"), "{}", refused.err);
}
