//! Faults of this machine are not the receiver's.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_domain::outcome::{Answer as Ended, FailureKind, Phase};
use postrider_ports::sender::{OwnFaultKind, Sender};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::names::{Answer, Names, ips};
use crate::receiver::Receiver;
use crate::sending::{post, request, response, sender_asking, settings};

const OK: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
const CHILD: &str = "POSTRIDER_TEST_CHILD_WITHOUT_DESCRIPTORS";

#[tokio::test]
async fn when_no_name_server_answers_for_three_hosts_no_receiver_is_to_blame() {
    let names = Names::start().await;
    let hosts = ["a.example.com", "b.example.com", "c.example.com"];
    for host in hosts {
        names.set(host, Answer::Nothing);
    }
    let receiver = Receiver::answering(OK).await;
    let sender = HttpSender::new(SenderSettings {
        name_servers: Some(vec![names.addr]),
        connect_timeout: Duration::from_millis(200),
        ..settings(&["127.0.0.1/32"])
    })
    .unwrap();
    let ask = async |host: &str| {
        let request = request(&format!("https://{host}/?token=s3cret"));
        match sender.post(request).await {
            Ok(outcome) => match outcome.result {
                Ended::Failed(failure) => Ok((failure.kind, failure.phase)),
                Ended::Response(response) => panic!("{response:?}"),
            },
            Err(fault) => Err(fault.kind),
        }
    };
    let silent = Ok((FailureKind::Timeout, Phase::Dns));
    // One host alone is to blame, however often it fails.
    for host in ["a.example.com", "a.example.com", "b.example.com"] {
        assert_eq!(ask(host).await, silent, "{host}");
    }
    assert_eq!(ask("c.example.com").await, Err(OwnFaultKind::Network));
    // A receiver that answers shows that the network works.
    assert_eq!(
        response(post(&sender, &receiver.url("/")).await).status,
        200
    );
    for host in hosts {
        assert_eq!(ask(host).await, silent, "{host}");
    }
}

#[tokio::test]
async fn a_silent_receiver_is_only_to_blame_if_the_reference_answers() {
    let (silent, _queued) = swallowing().await;
    let receiver = Receiver::answering(OK).await;
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = unused.local_addr().unwrap();
    drop(unused);
    let sender = |reference: Option<SocketAddr>| {
        HttpSender::new(SenderSettings {
            connect_timeout: Duration::from_millis(200),
            reference: reference.map(|at| format!("http://{at}/").parse().unwrap()),
            ..settings(&["127.0.0.1/32"])
        })
        .unwrap()
    };
    let url = format!("http://{silent}/");
    let blamed = async |sender: &HttpSender| match sender.post(request(&url)).await {
        Ok(outcome) => match outcome.result {
            Ended::Failed(failure) => Ok((failure.kind, failure.phase)),
            Ended::Response(response) => panic!("{response:?}"),
        },
        Err(fault) => Err(fault.kind),
    };
    let silence = Ok((FailureKind::Timeout, Phase::Connect));
    assert_eq!(blamed(&sender(None)).await, silence);
    assert_eq!(blamed(&sender(Some(receiver.addr))).await, silence);
    let cut_off = sender(Some(closed));
    assert_eq!(blamed(&cut_off).await, Err(OwnFaultKind::Network));
    // A receiver that answers shows that the network works, whatever happened to the reference.
    post(&cut_off, &receiver.url("/")).await;
    assert_eq!(blamed(&cut_off).await, silence);
}

/// An address that swallows packets: nothing accepts connections there, and once its queue is full, the kernel drops new ones.
async fn swallowing() -> (SocketAddr, (TcpListener, Vec<TcpStream>)) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let addr = full.local_addr().unwrap();
    let mut queued = Vec::new();
    while let Ok(stream) = timeout(Duration::from_millis(300), TcpStream::connect(addr)).await {
        queued.push(stream.unwrap());
    }
    (addr, (full, queued))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_without_descriptors_blames_no_receiver() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "own_faults::a_child_runs_out_of_descriptors"])
        .env(CHILD, "yes");
    let output = tokio::task::spawn_blocking(move || child.output().unwrap())
        .await
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// The second half of the test above: the limit applies to a whole process.
#[tokio::test]
async fn a_child_runs_out_of_descriptors() {
    #[expect(
        clippy::disallowed_methods,
        reason = "set by the test that starts this process"
    )]
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let (names, receiver) = (Names::start().await, Receiver::answering(OK).await);
    names.set("hooks.example.com", Answer::Addresses(ips(&["127.0.0.1"])));
    let sender = sender_asking(names.addr);
    let by_name = format!("http://hooks.example.com:{}/", receiver.addr.port());
    let limits = getrlimit(Resource::Nofile);
    let none = Rlimit {
        current: Some(0),
        ..limits
    };
    setrlimit(Resource::Nofile, none).unwrap();
    for url in [&receiver.url("/"), &by_name] {
        let fault = sender.post(request(url)).await.unwrap_err();
        assert_eq!(fault.kind, OwnFaultKind::Descriptors, "{url}: {fault}");
    }
    setrlimit(Resource::Nofile, limits).unwrap();
    for url in [&receiver.url("/"), &by_name] {
        assert_eq!(response(post(&sender, url).await).status, 200, "{url}");
    }
}
