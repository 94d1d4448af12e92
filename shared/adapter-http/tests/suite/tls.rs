//! Certificates: a valid one, and the ways in which one can be invalid.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use postrider_adapter_http::{HttpSender, HttpSetupError, SenderSettings};
use postrider_domain::outcome::{FailureKind, Phase};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use crate::names::{Answer, Names, ips};
use crate::receiver::Receiver;
use crate::sending::{SHORT, failed, hasty_sender, post, post_briefly, response, settings};

/// An authority, and a sender that trusts it in addition to the public ones.
struct World {
    authority: CertifiedIssuer<'static, KeyPair>,
    names: Names,
    settings: SenderSettings,
    sender: HttpSender,
}

impl World {
    async fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params
            .distinguished_name
            .push(DnType::CommonName, "An authority for tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let names = Names::start().await;
        names.set("hooks.example.com", Answer::Addresses(ips(&["127.0.0.1"])));
        let settings = SenderSettings {
            name_servers: Some(vec![names.addr]),
            extra_roots_pem: Some(authority.pem().into_bytes()),
            ..settings(&["127.0.0.1/32"])
        };
        Self {
            authority,
            names,
            settings: settings.clone(),
            sender: HttpSender::new(settings).unwrap(),
        }
    }

    /// A receiver with a certificate for this name, modified by `change` and signed by the authority.
    async fn receiver(&self, name: &str, change: fn(&mut CertificateParams)) -> Receiver {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        serve(certificate.der().clone(), key, Duration::ZERO).await
    }

    /// A receiver with a valid certificate that begins its handshake late.
    async fn late_receiver(&self, by: Duration) -> Receiver {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["hooks.example.com".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        serve(certificate.der().clone(), key, by).await
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the handshake is late on purpose: later than the timeout"
)]
async fn serve(certificate: CertificateDer<'static>, key: KeyPair, late_by: Duration) -> Receiver {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    Receiver::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), move |guest| {
        let acceptor = acceptor.clone();
        async move {
            tokio::time::sleep(late_by).await;
            let Ok(mut tls) = acceptor.accept(guest.stream).await else {
                return;
            };
            let mut request = [0; 4096];
            while tls.read(&mut request).await.is_ok_and(|read| read > 0) {
                tls.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                    .await
                    .unwrap();
                tls.flush().await.unwrap();
            }
        }
    })
    .await
}

fn url(receiver: &Receiver) -> String {
    format!(
        "https://hooks.example.com:{}/?token=s3cret",
        receiver.addr.port()
    )
}

#[tokio::test]
async fn a_slow_handshake_leaves_the_response_its_whole_timeout() {
    let world = World::new().await;
    let receiver = world.late_receiver(SHORT + SHORT / 2).await;
    let outcome = post_briefly(&world.sender, &url(&receiver)).await;
    assert_eq!(response(outcome).status, 200);
}

#[tokio::test]
async fn a_valid_certificate_is_accepted_and_the_connection_reused() {
    let world = World::new().await;
    let receiver = world.receiver("hooks.example.com", |_| {}).await;
    let first = post(&world.sender, &url(&receiver)).await;
    assert!(
        first.timings.dns_ms.is_some()
            && first.timings.connect_ms.is_some()
            && first.timings.tls_ms.is_some()
    );
    assert_eq!(response(first).body, "ok");
    let second = post(&world.sender, &url(&receiver)).await;
    assert_eq!(second.timings.tls_ms, None);
    assert_eq!(response(second).status, 200);
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn a_name_with_a_trailing_dot_needs_the_same_certificate() {
    let world = World::new().await;
    let receiver = world.receiver("hooks.example.com", |_| {}).await;
    let url = format!("https://hooks.example.com.:{}/", receiver.addr.port());
    assert_eq!(response(post(&world.sender, &url).await).status, 200);
}

#[tokio::test]
async fn a_literal_address_needs_a_certificate_for_it() {
    let world = World::new().await;
    let named = world.receiver("127.0.0.1", |_| {}).await;
    let at = |receiver: &Receiver| format!("https://{}/", receiver.addr);
    assert_eq!(response(post(&world.sender, &at(&named)).await).status, 200);
    let other = world.receiver("hooks.example.com", |_| {}).await;
    failed(
        post(&world.sender, &at(&other)).await,
        FailureKind::Tls,
        Phase::Tls,
    );
}

#[tokio::test]
async fn an_expired_certificate_is_rejected() {
    let world = World::new().await;
    let receiver = world
        .receiver("hooks.example.com", |params| {
            params.not_after = date_time_ymd(2020, 1, 1);
        })
        .await;
    let failure = failed(
        post(&world.sender, &url(&receiver)).await,
        FailureKind::Tls,
        Phase::Tls,
    );
    assert_eq!(
        failure.detail,
        "the certificate of hooks.example.com has expired"
    );
}

#[tokio::test]
async fn a_certificate_from_the_future_is_rejected() {
    let world = World::new().await;
    let receiver = world
        .receiver("hooks.example.com", |params| {
            params.not_before = date_time_ymd(2999, 1, 1);
        })
        .await;
    let failure = failed(
        post(&world.sender, &url(&receiver)).await,
        FailureKind::Tls,
        Phase::Tls,
    );
    assert_eq!(
        failure.detail,
        "the certificate of hooks.example.com is not valid yet"
    );
}

#[tokio::test]
async fn a_certificate_for_another_name_is_rejected() {
    let world = World::new().await;
    let receiver = world.receiver("other.example.com", |_| {}).await;
    let failure = failed(
        post(&world.sender, &url(&receiver)).await,
        FailureKind::Tls,
        Phase::Tls,
    );
    assert_eq!(
        failure.detail,
        "the certificate of hooks.example.com is for another name"
    );
}

#[tokio::test]
async fn a_self_signed_certificate_is_rejected() {
    let world = World::new().await;
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["hooks.example.com".to_owned()]).unwrap();
    let receiver = serve(
        params.self_signed(&key).unwrap().der().clone(),
        key,
        Duration::ZERO,
    )
    .await;
    let outcome = post(&world.sender, &url(&receiver)).await;
    assert!(
        outcome.timings.connect_ms.is_some() && outcome.timings.tls_ms.is_some(),
        "{:?}",
        outcome.timings
    );
    let failure = failed(outcome, FailureKind::Tls, Phase::Tls);
    assert!(
        failure
            .detail
            .contains("self-signed or issued by an authority that is not trusted"),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_receiver_that_does_not_speak_tls_or_stays_silent() {
    let world = World::new().await;
    let plain = Receiver::start(|mut guest| async move {
        guest
            .send(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
            .await;
        guest.until_closed().await;
    })
    .await;
    let failure = failed(
        post(&world.sender, &url(&plain)).await,
        FailureKind::Tls,
        Phase::Tls,
    );
    assert_eq!(
        failure.detail,
        "hooks.example.com does not speak TLS on this port"
    );

    let closing = Receiver::start(|guest| async move { guest.reset() }).await;
    failed(
        post(&world.sender, &url(&closing)).await,
        FailureKind::Tls,
        Phase::Tls,
    );

    let silent = Receiver::start(|mut guest| async move { guest.until_closed().await }).await;
    let sender = hasty_sender(world.settings.clone());
    let outcome = post_briefly(&sender, &url(&silent)).await;
    assert!(
        outcome.timings.tls_ms.is_some() && outcome.timings.first_byte_ms.is_none(),
        "{:?}",
        outcome.timings
    );
    failed(outcome, FailureKind::Timeout, Phase::Tls);
    assert!(world.names.questions("hooks.example.com") >= 3);
}

#[tokio::test]
async fn invalid_roots_are_rejected_at_startup() {
    let with = |pem: &str| {
        HttpSender::new(SenderSettings {
            extra_roots_pem: Some(pem.as_bytes().to_vec()),
            ..settings(&[])
        })
        .map(drop)
    };
    assert!(matches!(
        with("no certificate here"),
        Err(HttpSetupError::RootsEmpty)
    ));
    let broken = "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n";
    assert!(matches!(
        with(broken),
        Err(HttpSetupError::RootsUnreadable(_))
    ));
}
