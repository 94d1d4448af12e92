//! `postrider deliveries --follow`.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::relay::Relay;
use super::{dead_delivery, impatient};
use crate::command::{PATIENCE, Serve};
use crate::inbound_command::{OPEN, Stage};

struct Following {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Following {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    async fn line(&mut self) -> String {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        line.expect("something happens").unwrap().expect("it runs")
    }

    /// The change and the delivery of the next line.
    async fn change(&mut self) -> (String, String) {
        let line: Value = serde_json::from_str(&self.line().await).unwrap();
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        (text("change"), text("id"))
    }

    /// Sends Ctrl-C; returns the exit code, the rest of standard output, and standard error.
    async fn interrupt(mut self) -> (i32, String, String) {
        let pid = self.child.id().unwrap().to_string();
        let asked = Command::new("kill").args(["-INT", &pid]).status().await;
        assert!(asked.unwrap().success());
        let (mut rest, mut errors) = (String::new(), String::new());
        let mut out = self.lines.into_inner();
        out.read_to_string(&mut rest).await.unwrap();
        let mut err = self.child.stderr.take().unwrap();
        err.read_to_string(&mut errors).await.unwrap();
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let code = ended.expect("it ends").unwrap().code();
        (code.unwrap(), rest, errors)
    }
}

#[tokio::test]
async fn following_survives_a_lost_connection_and_a_restarted_gateway() {
    let data = tempfile::tempdir().unwrap();
    let mut stage = Stage::new().await;
    stage.gateway = Serve::start_in(data.path(), &[OPEN]).await;
    let url = stage.receiver.url();
    let retry = serde_json::json!({"profile": "gateway"});
    let webhook = stage.gateway.webhook(&url, &retry).await;
    let arrives = async |stage: &Stage| {
        let id = stage.gateway.publish(&webhook, "{}").await;
        stage.gateway.settled(&id).await;
        id
    };
    let relay = Relay::to(&stage.gateway.url).await;
    let before = arrives(&stage).await;
    let line = ["deliveries", "--follow", "--json", "--url", &relay.url];
    let mut following = Following::start(stage.command(&line));
    assert_eq!(following.change().await, ("listed".into(), before));

    let first = arrives(&stage).await;
    assert_eq!(following.change().await, ("delivered".into(), first));

    relay.cut();
    let missed = arrives(&stage).await;
    relay.route_to(&stage.gateway.url);
    assert_eq!(following.change().await, ("delivered".into(), missed));

    stage.gateway.kill().await;
    relay.cut();
    stage.gateway = Serve::start_in(data.path(), &[OPEN]).await;
    let early = arrives(&stage).await;
    relay.route_to(&stage.gateway.url);
    assert_eq!(following.change().await, ("delivered".into(), early));
    let late = arrives(&stage).await;
    assert_eq!(following.change().await, ("delivered".into(), late));

    let (code, rest, errors) = following.interrupt().await;
    assert_eq!((code, rest.as_str()), (0, ""), "nothing is shown twice");
    assert_eq!(errors, "", "no remarks with --json");
}

#[tokio::test]
async fn following_shows_what_matches_the_filter_and_why_it_failed() {
    let stage = Stage::new().await;
    let webhook = impatient(&stage).await;
    let line = [
        "deliveries",
        "--follow",
        "--limit",
        "0",
        "--status",
        "dead",
        "--webhook",
        &webhook,
        "--type",
        "task.completed",
    ];
    let mut following = Following::start(stage.command(&line));
    // Nothing shows from outside when it starts to listen, so failures are created until one is shown.
    let mut made = Vec::new();
    let mut every = tokio::time::interval(std::time::Duration::from_millis(500));
    let first = loop {
        tokio::select! {
            line = following.line() => break line,
            _ = every.tick() => made.push(dead_delivery(&stage, &webhook).await),
        }
    };
    let another = impatient(&stage).await;
    let of_another = dead_delivery(&stage, &another).await;
    let last = dead_delivery(&stage, &webhook).await;
    let mut seen = vec![first];
    while !seen.last().unwrap().contains(&last) {
        seen.push(following.line().await);
    }
    assert!(
        seen[0].contains("✗ dead      task.completed")
            && seen[0].contains("The receiver returned 500"),
        "{seen:?}"
    );
    assert!(made.iter().any(|id| seen[0].contains(id)), "{seen:?}");
    assert!(
        seen.iter().all(|line| !line.contains(&of_another)),
        "{seen:?}"
    );
    assert_eq!(following.interrupt().await.0, 0);

    let refused = stage
        .run(&["deliveries", "--follow", "--webhook", "nonsense"])
        .await;
    assert_eq!(refused.code, 3);
    assert!(refused.err.contains("webhook_id"), "{}", refused.err);
}

#[tokio::test]
async fn a_closed_pipe_ends_it_quietly() {
    let stage = Stage::new().await;
    let webhook = stage.webhook.clone();
    let id = stage.gateway.publish(&webhook, "{}").await;
    stage.gateway.settled(&id).await;
    let mut following = Following::start(stage.command(&["deliveries", "--follow"]));
    assert!(following.line().await.contains(&id));
    drop(following.lines);
    let mut child = following.child;
    let mut every = tokio::time::interval(std::time::Duration::from_millis(200));
    let ended = async {
        loop {
            tokio::select! {
                ended = child.wait() => return ended.unwrap(),
                _ = every.tick() => { stage.gateway.publish(&webhook, "{}").await; }
            }
        }
    };
    let ended = tokio::time::timeout(PATIENCE, ended)
        .await
        .expect("it ends");
    assert_eq!(ended.code(), Some(0));
    let mut errors = String::new();
    let mut err = child.stderr.take().unwrap();
    err.read_to_string(&mut errors).await.unwrap();
    assert_eq!(errors, "");
}
