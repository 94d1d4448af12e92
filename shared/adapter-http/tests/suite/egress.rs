//! Egress rules in practice: names that change, point inward or fail; redirects; proxies; connections that outlive a
//! DNS answer.

use std::process::Command;

use hickory_server::proto::op::ResponseCode;
use postrider_adapter_http::SenderSettings;
use postrider_domain::outcome::{FailureKind, Phase};

use crate::names::{Answer, Names, ips};
use crate::receiver::Receiver;
use crate::sending::{
    failed, hasty_sender, local_sender, post, post_briefly, response, sender_asking, settings,
};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const OK_THEN_CLOSE: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";

// In these tests 127.0.0.1 is allowed explicitly and stands for a public address; 127.0.0.2 is blocked and stands for a
// private one.

#[tokio::test]
async fn a_name_that_points_inward_after_the_check_is_not_followed() {
    let names = Names::start().await;
    let receiver = Receiver::answering(OK_THEN_CLOSE).await;
    names.set(
        "rebind.example.com",
        Answer::FirstThen(ips(&["127.0.0.1"]), ips(&["127.0.0.2"])),
    );
    let sender = sender_asking(names.addr);
    let url = format!(
        "http://rebind.example.com:{}/?token=s3cret",
        receiver.addr.port()
    );

    assert_eq!(response(post(&sender, &url).await).status, 200);
    assert_eq!(
        names.questions("rebind.example.com"),
        1,
        "resolved once, dialled as checked"
    );
    let failure = failed(post(&sender, &url).await, FailureKind::Blocked, Phase::Dns);
    assert_eq!(
        failure.detail,
        "the host resolves to an address that is not allowed; use a public address"
    );
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn one_blocked_address_blocks_the_request() {
    let names = Names::start().await;
    let receiver = Receiver::answering(OK).await;
    let sender = sender_asking(names.addr);
    for (name, addresses) in [
        ("both.example.com", ["127.0.0.1", "127.0.0.2"]),
        ("families.example.com", ["127.0.0.1", "::1"]),
        ("mapped.example.com", ["127.0.0.1", "::ffff:10.0.0.1"]),
        ("metadata.example.com", ["127.0.0.1", "169.254.169.254"]),
        ("public-http.example.com", ["127.0.0.1", "8.8.8.8"]),
    ] {
        names.set(name, Answer::Addresses(ips(&addresses)));
        let url = format!("http://{name}:{}/", receiver.addr.port());
        failed(post(&sender, &url).await, FailureKind::Blocked, Phase::Dns);
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn an_alias_that_points_inward_is_blocked() {
    let names = Names::start().await;
    names.set(
        "alias.example.com",
        Answer::Alias("inside.corp.", ips(&["10.0.0.7"])),
    );
    let failure = failed(
        post(&sender_asking(names.addr), "https://alias.example.com/").await,
        FailureKind::Blocked,
        Phase::Dns,
    );
    assert_eq!(
        failure.detail,
        "the host resolves to an address that is not allowed; use a public address"
    );
}

#[tokio::test]
async fn an_unresolvable_name_is_an_error_and_nothing_is_dialled() {
    let names = Names::start().await;
    names.set("broken.example.com", Answer::Code(ResponseCode::ServFail));
    names.set("refused.example.com", Answer::Code(ResponseCode::Refused));
    names.set("empty.example.com", Answer::Addresses(Vec::new()));
    let sender = sender_asking(names.addr);
    for (name, reason) in [
        ("broken.example.com", "the name server answered"),
        ("refused.example.com", "the name server answered"),
        (
            "missing.example.com",
            "the name missing.example.com does not exist",
        ),
        ("empty.example.com", "empty.example.com has no address"),
    ] {
        let outcome = post(&sender, &format!("https://{name}/?token=s3cret")).await;
        assert!(
            outcome.timings.dns_ms.is_some() && outcome.timings.connect_ms.is_none(),
            "{:?}",
            outcome.timings
        );
        let failure = failed(outcome, FailureKind::Dns, Phase::Dns);
        assert!(failure.detail.contains(reason), "{}", failure.detail);
        assert!(!failure.detail.contains("s3cret"));
    }
}

#[tokio::test]
async fn a_silent_name_server_is_a_timeout_while_resolving() {
    let names = Names::start().await;
    names.set("silent.example.com", Answer::Nothing);
    let sender = hasty_sender(SenderSettings {
        name_servers: Some(vec![names.addr]),
        ..settings(&[])
    });
    let outcome = post_briefly(&sender, "https://silent.example.com/").await;
    assert!(outcome.timings.dns_ms.is_some_and(|ms| ms > 0));
    failed(outcome, FailureKind::Timeout, Phase::Dns);
}

#[tokio::test]
async fn a_literal_address_is_checked_like_any_other() {
    let sender = local_sender();
    for url in [
        "http://127.0.0.2/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.2]/",
        "https://[fd00:ec2::254]/",
        "https://0.0.0.0/",
        "http://8.8.8.8/",
        "https://8.8.8.8:9/",
        "https://localhost/",
        "https://user:pass@example.com/",
        "gopher://127.0.0.1/",
    ] {
        failed(post(&sender, url).await, FailureKind::Blocked, Phase::Check);
    }
}

#[tokio::test]
async fn public_addresses_are_allowed_over_https_only() {
    let names = Names::start().await;
    names.set(
        "public.example.com",
        Answer::Addresses(ips(&["8.8.8.8", "2606:4700::1111"])),
    );
    let sender = sender_asking(names.addr);
    let at = async |url: &str| sender.addresses_of(&url.parse().unwrap()).await;
    let found = at("https://public.example.com/").await.unwrap();
    assert_eq!(
        found,
        [
            "8.8.8.8:443".parse().unwrap(),
            "[2606:4700::1111]:443".parse().unwrap()
        ]
    );
    assert_eq!(
        at("http://public.example.com/").await.unwrap_err().detail,
        "plain http is not allowed; use https"
    );
    assert_eq!(
        at("https://public.example.com:8443/")
            .await
            .unwrap_err()
            .kind,
        FailureKind::Blocked
    );
    assert_eq!(
        at("https://8.8.8.8/").await.unwrap(),
        ["8.8.8.8:443".parse().unwrap()]
    );
}

#[tokio::test]
async fn redirects_are_responses_and_are_not_followed() {
    let target = Receiver::answering(OK).await;
    let sender = local_sender();
    for status in [301, 302, 303, 307, 308] {
        for location in [
            target.url("/"),
            "http://169.254.169.254/".into(),
            "file:///etc/passwd".into(),
            "/again".into(),
        ] {
            let answer = format!(
                "HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
            );
            let receiver = Receiver::start_at("127.0.0.1:0".parse().unwrap(), move |mut guest| {
                let answer = answer.clone();
                async move {
                    while guest.request().await.is_some() {
                        guest.send(answer.as_bytes()).await;
                    }
                }
            })
            .await;
            assert_eq!(
                response(post(&sender, &receiver.url("/")).await).status,
                status
            );
            assert_eq!(receiver.requests().len(), 1);
        }
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_kept_connection_stays_with_the_checked_address_when_the_name_moves_inward() {
    let names = Names::start().await;
    let receiver = Receiver::start(|mut guest| async move {
        for _ in 0..2 {
            guest.request().await.unwrap();
            guest.send(OK.as_bytes()).await;
        }
        guest.request().await.unwrap();
        guest.send(OK_THEN_CLOSE.as_bytes()).await;
    })
    .await;
    names.set("flips.example.com", Answer::Addresses(ips(&["127.0.0.1"])));
    let sender = sender_asking(names.addr);
    let url = format!("http://flips.example.com:{}/", receiver.addr.port());
    assert_eq!(response(post(&sender, &url).await).status, 200);
    names.set("flips.example.com", Answer::Addresses(ips(&["127.0.0.2"])));
    for _ in 0..2 {
        assert_eq!(
            response(post(&sender, &url).await).status,
            200,
            "still the checked address"
        );
    }
    failed(post(&sender, &url).await, FailureKind::Blocked, Phase::Dns);
    assert_eq!((receiver.connections(), receiver.requests().len()), (1, 3));
}

#[tokio::test]
async fn a_connection_is_not_shared_between_names_or_ports() {
    let names = Names::start().await;
    let receiver = Receiver::answering(OK).await;
    let sender = sender_asking(names.addr);
    for name in ["one.example.com", "two.example.com"] {
        names.set(name, Answer::Addresses(ips(&["127.0.0.1"])));
        assert_eq!(
            response(post(&sender, &format!("http://{name}:{}/", receiver.addr.port())).await)
                .status,
            200
        );
    }
    assert_eq!(
        response(post(&sender, &receiver.url("/")).await).status,
        200
    );
    assert_eq!(receiver.connections(), 3);
}

const CHILD_TARGET: &str = "POSTRIDER_TEST_CHILD_TARGET";

#[tokio::test(flavor = "multi_thread")]
async fn proxy_variables_are_not_honoured() {
    let receiver = Receiver::answering(OK).await;
    let proxy = Receiver::answering("HTTP/1.1 502 Trapped\r\ncontent-length: 0\r\n\r\n").await;
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "egress::a_child_posts_to_its_target"])
        .env(CHILD_TARGET, receiver.url("/"));
    for variable in [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
    ] {
        child.env(variable, proxy.url(""));
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy");
    let output = tokio::task::spawn_blocking(move || child.output().unwrap())
        .await
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert_eq!((receiver.requests().len(), proxy.connections()), (1, 0));
}

/// The second half of the test above: variables can be set safely only for another process.
#[tokio::test]
async fn a_child_posts_to_its_target() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the parent passes the target this way"
    )]
    let Ok(url) = std::env::var(CHILD_TARGET) else {
        return;
    };
    assert_eq!(response(post(&local_sender(), &url).await).status, 200);
}
