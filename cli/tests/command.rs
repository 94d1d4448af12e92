//! The built binary: its output and its exit codes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a failed expectation stops the test, with its location"
)]

mod stub;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use stub::{Gateway, answer};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn postrider(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_postrider"));
    command.args(args).stdin(Stdio::null()).env("NO_COLOR", "1");
    for setting in [
        "POSTRIDER_URL",
        "POSTRIDER_TOKEN",
        "POSTRIDER_DATA",
        "POSTRIDER_SECRET",
        "POSTRIDER_SOURCE_SECRET",
        "POSTRIDER_LISTEN",
    ] {
        command.env_remove(setting);
    }
    command
}

fn run(args: &[&str]) -> Output {
    postrider(args).output().unwrap()
}

fn run_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = postrider(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn every_command_has_help() {
    let commands: [(&[&str], &str); 53] = [
        (&[], "Exit codes"),
        (&["serve"], "--listen"),
        (&["send"], "--idempotency-key"),
        (&["listen"], "--register"),
        (&["webhooks"], "rotate-secret"),
        (&["webhooks", "list"], "--json"),
        (&["webhooks", "show"], "<ID>"),
        (&["webhooks", "create"], "--delays-seconds"),
        (&["webhooks", "update"], "--owner-email"),
        (&["webhooks", "delete"], "<ID>"),
        (&["webhooks", "pause"], "<ID>"),
        (&["webhooks", "resume"], "--paused"),
        (&["webhooks", "rotate-secret"], "--secret"),
        (&["webhooks", "test"], "--wait"),
        (&["listen"], "--forward-to"),
        (&["sources"], "rotate-secret"),
        (&["sources", "list"], "--json"),
        (&["sources", "show"], "<ID>"),
        (&["sources", "create"], "TYPE=INTENT:SESSION->WEBHOOK"),
        (&["sources", "create"], "--verify-token"),
        (&["sources", "update"], "--public-url"),
        (&["sources", "delete"], "<ID>"),
        (&["sources", "rotate-secret"], "POSTRIDER_SOURCE_SECRET"),
        (&["sources", "routes", "get"], "<ID>"),
        (&["sources", "routes", "set"], "--routes-file"),
        (&["sources", "diagnose"], "--request"),
        (&["trigger"], "--list"),
        (&["trigger"], "pull_request.opened"),
        (&["deliveries"], "--follow"),
        (&["deliveries"], "show"),
        (&["show"], "--payload"),
        (&["top"], "--once"),
        (&["deliveries", "list"], "--since"),
        (&["deliveries", "show"], "<ID>"),
        (&["retry"], "--dry-run"),
        (&["retry"], "--yes"),
        (&["retry"], "Exit codes"),
        (&["retry", "status"], "<JOB>"),
        (&["retry", "cancel"], "<JOB>"),
        (&["shadow"], "--include-headers"),
        (&["stats"], "--window"),
        (&["keys"], "revoke"),
        (&["keys", "list"], "--json"),
        (&["keys", "create"], "--scope"),
        (&["keys", "revoke"], "<ID>"),
        (&["sign"], "--timestamp"),
        (&["verify"], "--plain"),
        (&["policy"], "--outage"),
        (&["doctor"], "--url"),
        (&["completions"], "fish"),
        (&["send"], "Examples:"),
        (&["retry"], "Examples:"),
        (&["policy"], "Examples:"),
    ];
    for (command, mentioned) in commands {
        let output = run(&[command, &["--help"]].concat());
        assert_eq!(code(&output), 0, "{command:?}");
        assert!(
            stdout(&output).contains(mentioned),
            "{command:?} does not mention {mentioned}: {}",
            stdout(&output)
        );
    }
}

#[test]
fn wrong_usage_exits_2() {
    let lines: [&[&str]; 31] = [
        &[],
        &["fly"],
        &["send"],
        &["send", "a.b", "not json"],
        &["retry"],
        &["retry", "dlv_1", "--dead"],
        &["retry", "--dead", "--failed"],
        &["retry", "--dead", "status", "job_1"],
        &["retry", "--since", "2h", "cancel", "job_1"],
        &["retry", "dlv_1", "--yes"],
        &["retry", "--dead", "--dry-run", "--wait"],
        &["deliveries", "list", "--since", "yesterday"],
        &["deliveries", "--follow", "--until", "1h"],
        &["deliveries", "--status", "dead", "list"],
        &["deliveries", "--limit", "some"],
        &["top", "--json"],
        &["shadow", "dlv_1"],
        &[
            "shadow",
            "dlv_1",
            "--to",
            "https://x.example",
            "--timeout",
            "soon",
        ],
        &["keys", "create", "--name", "x", "--scope", "root"],
        &["sign", "--secret", "canary", "--body", "x"],
        &["policy", "--profile", "custom"],
        &["--url", "gopher://x", "keys", "list"],
        &["sources", "create", "--scheme", "rot13"],
        &[
            "sources", "create", "--scheme", "github", "--route", "nonsense",
        ],
        &["sources", "update", "src_1"],
        &["sources", "routes", "set", "src_1"],
        &["sources", "diagnose"],
        &["sources", "diagnose", "--request", "x"],
        &["trigger"],
        &[
            "trigger",
            "github",
            "--secret",
            "canary",
            "--source",
            "src_1",
            "--to",
            "http://h/",
        ],
        &["listen", "--forward-to", "gopher://x"],
    ];
    for line in lines {
        let output = run(line);
        assert_eq!(code(&output), 2, "{line:?}: {}", stderr(&output));
        assert!(
            !stderr(&output).is_empty() && !stderr(&output).contains("canary"),
            "{line:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_signed_body_verifies() {
    let body = b"{\"id\": 42}\n";
    let signed = run_with_input(&["sign", "--secret", SECRET, "--id", "msg_1", "-"], body);
    assert_eq!(code(&signed), 0);
    let headers = stdout(&signed);
    let header = |name: &str| {
        let line = headers
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("{name} in {headers}"))
    };
    let given = [
        "verify",
        "--secret",
        SECRET,
        "--id",
        header("webhook-id"),
        "--timestamp",
        header("webhook-timestamp"),
        "--signature",
        header("webhook-signature"),
        "--plain",
        header("x-observatory-signature"),
        "-",
    ];
    assert_eq!(code(&run_with_input(&given, body)), 0);
    let forged = run_with_input(&given, b"{\"id\": 43}\n");
    assert_eq!(code(&forged), 1);
    assert!(stdout(&forged).contains("no signature matches"));
    let plain = run_with_input(
        &[
            "verify",
            "--secret",
            SECRET,
            "--plain",
            header("x-webhook-signature"),
            "-",
        ],
        body,
    );
    assert_eq!(code(&plain), 0);
}

#[test]
fn an_outage_that_the_delivery_does_not_survive_exits_1() {
    assert_eq!(code(&run(&["policy", "--outage", "10m"])), 0);
    let output = run(&["policy", "--outage", "3h", "--json"]);
    assert_eq!(code(&output), 1);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["attempts"][4]["elapsed"]["planned_ms"], 4_350_000);
    assert!(document["outage"]["delivered_by_for_sure"].is_null());
}

#[test]
fn completions_are_generated_for_common_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert_eq!(code(&output), 0, "{shell}");
        for word in [
            "rotate-secret",
            "diagnose",
            "trigger",
            "sendgrid",
            "follow",
            "top",
            "until",
        ] {
            assert!(stdout(&output).contains(word), "{word} for {shell}");
        }
    }
}

#[test]
fn an_unreachable_gateway_exits_4() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}");
    let output = run(&["webhooks", "list", "--url", &url]);
    assert_eq!(code(&output), 4);
    assert!(
        stderr(&output).contains(&url) && stderr(&output).contains("refused"),
        "{}",
        stderr(&output)
    );
    let output = run(&["doctor", "--url", &url]);
    assert_eq!(code(&output), 1);
    assert!(
        stdout(&output).contains('✗') && stdout(&output).contains("postrider serve"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_machine_without_certificates_can_call_a_gateway() {
    let empty = tempfile::tempdir().unwrap();
    let gateway = Gateway::start([answer(200, r#"{"items":[],"next":null}"#)]);
    let output = postrider(&["webhooks", "list", "--url", gateway.url()])
        .env("SSL_CERT_DIR", empty.path())
        .env_remove("SSL_CERT_FILE")
        .output()
        .unwrap();
    assert!(
        !stderr(&output).contains("certificates"),
        "{}",
        stderr(&output)
    );
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

#[test]
fn a_rejected_request_exits_3_and_lists_the_fields() {
    let problem = r#"{"type":"about:blank","title":"Invalid input","status":422,"code":"invalid_input",
        "detail":"one field is invalid","errors":[{"field":"target_url","message":"must be https"}]}"#;
    let gateway = Gateway::start([answer(422, problem), answer(422, problem)]);
    let line = [
        "webhooks",
        "create",
        "--to",
        "http://example.com",
        "--token",
        "canary",
        "--url",
        gateway.url(),
    ];
    let output = run(&line);
    assert_eq!(code(&output), 3);
    let error = stderr(&output);
    for part in [
        "Invalid input",
        "one field is invalid",
        "target_url: must be https",
    ] {
        assert!(error.contains(part), "{part} in {error}");
    }
    assert!(!error.contains("canary") && stdout(&output).is_empty());

    let output = run(&[&line[..], &["--json"]].concat());
    let document: serde_json::Value = serde_json::from_str(&stderr(&output)).unwrap();
    assert_eq!(
        (code(&output), &document["code"]),
        (3, &"invalid_input".into())
    );
}

#[test]
fn a_gateway_with_an_internal_error_exits_4() {
    let gateway = Gateway::start([answer(
        503,
        r#"{"title":"Unavailable","status":503,"detail":"the disk is full"}"#,
    )]);
    let output = run(&["send", "a.b", "--url", gateway.url()]);
    assert_eq!(code(&output), 4);
    assert!(
        stderr(&output).contains("the disk is full"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_key_in_the_data_directory_is_used_on_the_same_machine() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("admin-token"), "found-here\n").unwrap();
    let gateway = Gateway::start([answer(
        202,
        r#"{"id":"evt_1","duplicate":false,"deliveries":[]}"#,
    )]);
    let data = directory.path().to_str().unwrap();
    let output = run(&[
        "send",
        "a.b",
        r#"{"n": 1.00}"#,
        "--url",
        gateway.url(),
        "--data",
        data,
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("evt_1") && stdout(&output).contains("No webhook subscribes"));
    let request = gateway.requests().remove(0);
    assert!(request.starts_with("POST /v1/events "), "{request}");
    assert!(
        request.contains("authorization: Bearer found-here"),
        "{request}"
    );
    assert!(
        request.ends_with(r#"{"type":"a.b","payload":{"n": 1.00}}"#),
        "{request}"
    );
}

#[test]
fn wait_follows_a_delivery_to_its_end() {
    let delivery = |status: &str, count: u32| {
        let row = format!(
            r#"{{"id":"dlv_1","event_id":"evt_1","event_type":"a.b","webhook_id":"wh_1","session_id":null,
                "target_url":"https://example.com/","signature":"","status":"{status}","attempt_count":{count},
                "max_attempts":2,"last_attempted_at":null,"next_retry_at":null,"created_at":"2026-02-21T10:00:00Z",
                "error_detail":"HTTP status 500","payload":"{{}}","attempts":[]}}"#
        );
        answer(200, &row)
    };
    let accepted = || {
        answer(
            202,
            r#"{"id":"evt_1","duplicate":false,"deliveries":[{"id":"dlv_1","webhook_id":"wh_1"}]}"#,
        )
    };
    let gateway = Gateway::start([
        accepted(),
        delivery("pending", 0),
        delivery("failed", 1),
        delivery("dead", 2),
    ]);
    let output = run(&["send", "a.b", "--wait", "--url", gateway.url()]);
    assert_eq!(code(&output), 1);
    assert!(
        stdout(&output).contains("✗ dlv_1") && stdout(&output).contains("2 of 2"),
        "{}",
        stdout(&output)
    );
    assert!(
        stderr(&output).contains("failed, attempt 1 of 2: HTTP status 500"),
        "{}",
        stderr(&output)
    );

    let gateway = Gateway::start([accepted(), delivery("delivered", 1)]);
    let output = run(&["send", "a.b", "--wait", "--json", "--url", gateway.url()]);
    assert_eq!(code(&output), 0);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["deliveries"][0]["status"], "delivered");
}

#[test]
fn lists_read_pages_up_to_the_limit() {
    let gateway = Gateway::start([
        answer(200, r#"{"items":[{"n":1}],"next_cursor":"c1"}"#),
        answer(200, r#"{"items":[],"next_cursor":"c2"}"#),
        answer(200, r#"{"items":[{"n":2},{"n":3}],"next_cursor":"c3"}"#),
    ]);
    let output = run(&[
        "deliveries",
        "list",
        "--status",
        "dead",
        "--limit",
        "3",
        "--json",
        "--url",
        gateway.url(),
    ]);
    assert_eq!(
        stdout(&output),
        "{\"items\":[{\"n\":1},{\"n\":2},{\"n\":3}],\"next_cursor\":\"c3\"}\n"
    );
    let requests: Vec<String> = gateway
        .requests()
        .iter()
        .map(|request| request.lines().next().unwrap().to_owned())
        .collect();
    assert_eq!(
        requests,
        [
            "GET /v1/deliveries?status=dead&limit=3 HTTP/1.1",
            "GET /v1/deliveries?status=dead&limit=2&cursor=c1 HTTP/1.1",
            "GET /v1/deliveries?status=dead&limit=2&cursor=c2 HTTP/1.1",
        ]
    );
}

#[test]
fn a_bulk_retry_is_watched_to_its_end() {
    let job = |state: &str, done: u32| {
        format!(r#"{{"id":"job_1","state":"{state}","matched":3,"done":{done},"failed":0}}"#)
    };
    let gateway = Gateway::start([
        answer(202, &job("running", 1)),
        answer(200, &job("done", 3)),
    ]);
    let output = run(&[
        "retry",
        "--dead",
        "--webhook",
        "wh_1",
        "--yes",
        "--url",
        gateway.url(),
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("1 of 3"), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("job_1: done, 3 of 3 deliveries requeued"),
        "{}",
        stdout(&output)
    );
    assert!(
        gateway.requests()[0]
            .ends_with(r#"{"filter":{"status":"dead","webhook_id":"wh_1"},"dry_run":false}"#)
    );

    let counted = |count: u32| {
        let job = format!(r#"{{"id":null,"matched":{count},"state":null,"done":0,"failed":0}}"#);
        answer(202, &job)
    };
    let gateway = Gateway::start([counted(0)]);
    let output = run(&["retry", "--failed", "--dry-run", "--url", gateway.url()]);
    assert_eq!(stdout(&output), "0 deliveries would be requeued.\n");

    let gateway = Gateway::start([counted(7)]);
    let output = run(&["retry", "--dead", "--url", gateway.url()]);
    assert_eq!(code(&output), 2, "there is no terminal to confirm on");
    let error = stderr(&output);
    assert!(
        error.contains("7 deliveries") && error.contains("--yes"),
        "{error}"
    );
    assert_eq!(gateway.requests().len(), 1);
    assert!(gateway.requests()[0].contains(r#""dry_run":true"#));
}

#[test]
fn a_bulk_retry_that_is_not_counted_yet_shows_a_lower_bound() {
    let job = |state: &str, matched: u32, counted: bool, done: u32| {
        format!(
            r#"{{"id":"job_1","state":"{state}","matched":{matched},"counted":{counted},"done":{done},"failed":0}}"#
        )
    };
    let gateway = Gateway::start([
        answer(202, &job("running", 0, false, 0)),
        answer(200, &job("running", 2000, false, 200)),
        answer(200, &job("done", 2500, true, 2500)),
    ]);
    let output = run(&["retry", "--dead", "--yes", "--url", gateway.url()]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("200 of at least 2000"),
        "{}",
        stderr(&output)
    );
    assert!(
        stdout(&output).contains("job_1: done, 2500 of 2500 deliveries requeued"),
        "{}",
        stdout(&output)
    );

    let gateway = Gateway::start([answer(200, &job("running", 0, false, 0))]);
    let output = run(&["retry", "status", "job_1", "--url", gateway.url()]);
    assert_eq!(
        stdout(&output),
        "job_1: running, 0 of at least 0 deliveries requeued\n"
    );

    let many = r#"{"id":null,"matched":10000,"counted":false,"state":null,"done":0,"failed":0}"#;
    let gateway = Gateway::start([answer(202, many)]);
    let output = run(&["retry", "--dead", "--url", gateway.url()]);
    assert_eq!(code(&output), 2, "there is no terminal to confirm on");
    let error = stderr(&output);
    assert!(error.contains("at least 10000 deliveries"), "{error}");
}

/// As the gateway on AWS responds.
#[test]
fn a_closed_stream_is_reopened_at_its_position() {
    let notification = |place: u32, n: u32| {
        format!(
            "id: {place}\nevent: delivery.dead\ndata: {{\"id\":\"dlv_{n}/3/delivery.dead\",\"type\":\"delivery.dead\",\
             \"time\":\"2026-02-21T10:00:00.000Z\",\"data\":{{\"webhook_delivery_id\":\"dlv_{n}\",\"webhook_id\":\"wh_1\",\
             \"session_id\":null,\"event_type\":\"a.b\",\"attempt_count\":5,\"status\":\"dead\"}}}}\n\n"
        )
    };
    let hello = |place: u32| format!("retry: 20\nid: {place}\n\n");
    let gateway = Gateway::start([
        answer(200, &hello(5)),
        answer(200, r#"{"items":[],"next_cursor":null}"#),
        answer(200, &(hello(5) + &notification(6, 1))),
        // The same notification again, as may happen; one of an unknown kind; and another one.
        answer(
            200,
            &(hello(6)
                + &notification(7, 1)
                + "id: 8\ndata: {\"unknown\":true}\n\n"
                + &notification(9, 2)),
        ),
    ]);
    let line = ["deliveries", "--follow", "--json", "--url", gateway.url()];
    let mut child = postrider(&line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next =
        || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(
        (next()["id"].as_str(), next()["id"].as_str()),
        (Some("dlv_1"), Some("dlv_2"))
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let requests = gateway.requests();
    for (request, place) in [(2, "last-event-id: 5"), (3, "last-event-id: 6")] {
        assert!(requests[request].contains(place), "{}", requests[request]);
    }
    assert!(!requests[0].contains("last-event-id"), "{}", requests[0]);
}

#[test]
fn a_gap_in_the_stream_is_one_line_and_lists_what_has_changed() {
    let delivery = |n: u32, status: &str| {
        format!(
            r#"{{"id":"dlv_{n}","event_id":"evt_{n}","event_type":"a.b","webhook_id":"wh_1","session_id":null,
                "target_url":"https://example.com/","signature":"","status":"{status}","attempt_count":1,"max_attempts":5,
                "last_attempted_at":null,"next_retry_at":null,"created_at":"2026-02-21T10:00:00Z","error_detail":null}}"#
        )
    };
    let list = |items: &[String]| {
        let items = items.join(",");
        answer(200, &format!(r#"{{"items":[{items}],"next_cursor":null}}"#))
    };
    let gateway = Gateway::start([
        answer(200, "retry: 20\nid: 5\n\n"),
        list(&[delivery(1, "failed")]),
        // It comes back only after the list was read.
        answer(
            200,
            "retry: 60000\nid: 5\n\nid: 6\nevent: gap\ndata: {}\n\n",
        ),
        list(&[delivery(2, "delivered"), delivery(1, "failed")]),
    ]);
    let line = ["deliveries", "--follow", "--json", "--url", gateway.url()];
    let mut child = postrider(&line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let shown: Vec<serde_json::Value> = lines
        .take(3)
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(shown[0]["id"], "dlv_1");
    assert_eq!(shown[1]["change"], "gap");
    assert_eq!(shown[2]["id"], "dlv_2", "without what was shown before");
}

#[test]
fn global_options_may_be_anywhere() {
    for line in [
        ["--json", "retry", "status", "job_1"],
        ["retry", "--json", "status", "job_1"],
        ["retry", "status", "job_1", "--json"],
    ] {
        let gateway = Gateway::start([answer(
            200,
            r#"{"id":"job_1","state":"done","matched":1,"done":1,"failed":0}"#,
        )]);
        let output = postrider(&line)
            .env("POSTRIDER_URL", gateway.url())
            .env("POSTRIDER_DATA", "")
            .output()
            .unwrap();
        assert_eq!(code(&output), 0, "{line:?}: {}", stderr(&output));
        assert!(stdout(&output).starts_with(r#"{"id":"job_1""#), "{line:?}");
    }
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let mut child = postrider(&["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
}
