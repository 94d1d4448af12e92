//! Every way of every scheme: a signer, and sources that verify.

use std::sync::{Arc, LazyLock};

use http::HeaderName;
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::inbound::Inbound;
use postrider_domain::scheme::{At, Scheme, Way};
use postrider_domain::secret::{RetiringSecret, SecretRing, SharedSecret};
use postrider_domain::source::{Source, SourceSettings};
use postrider_domain::time::Timestamp;
use postrider_samples::{self as sample, SampleKeys, Unsigned};

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);
pub(super) const URL: &str = "https://hooks.example/gateway/webhooks/src_1";
const ID: &str = "7d1a6f";

/// A way of signing with its signer and sources.
pub(super) struct Scene {
    pub(super) scheme: Arc<Scheme>,
    pub(super) way: Way,
    pub(super) signer: SampleKeys,
    /// The source that has the signer's secret.
    pub(super) known: Source,
    /// The same after a rotation, while the old secret is still valid.
    pub(super) rotated: Source,
    /// A source that never had it.
    pub(super) stranger: Source,
    /// A source that had it earlier.
    pub(super) former: Source,
    /// The headers that the way reads, and the content type.
    pub(super) headers: Vec<HeaderName>,
}

static SCENES: LazyLock<Vec<Scene>> = LazyLock::new(|| {
    let ways = Scheme::all().flat_map(|scheme| scheme.ways.iter().map(move |way| (scheme, way)));
    ways.filter_map(|(scheme, way)| Scene::new(Arc::clone(scheme), way.clone()))
        .collect()
});

impl Scene {
    /// One of all scenes, by its index.
    pub(super) fn pick(n: u8) -> &'static Self {
        &SCENES[usize::from(n) % SCENES.len()]
    }

    /// The scene of a way; nothing if no keys can be created for it.
    pub(super) fn new(scheme: Arc<Scheme>, way: Way) -> Option<Self> {
        let signer = sample::keys_for(&way, &[1; 32])?;
        let other = sample::keys_for(&way, &[2; 32])?;
        let known = source(&scheme, signer.secret.clone());
        let stranger = source(&scheme, other.secret.clone());
        let secrets = known.secrets.rotated(other.secret, NOW).ok()?;
        let mut former = known.clone();
        former.secrets.current = secrets.current.clone();
        former.secrets.retiring = vec![RetiringSecret {
            secret: signer.secret.clone(),
            expires_at: Timestamp::from_millis(i64::MIN),
        }];
        let rotated = Source {
            secrets,
            ..known.clone()
        };
        Some(Self {
            headers: headers(&way),
            scheme,
            way,
            signer,
            known,
            rotated,
            stranger,
            former,
        })
    }

    /// One of the scheme's samples, signed; nothing if the way cannot sign it.
    pub(super) fn signed(&self, event: u8, query: Option<&str>) -> Option<Inbound> {
        let events = sample::events(&self.scheme);
        let event = events.get(usize::from(event) % events.len())?;
        let unsigned = Unsigned {
            url: URL,
            query,
            id: ID,
            headers: event.headers,
            content_type: event.content_type,
            body: event.body.as_bytes(),
        };
        sample::sign_in(&self.way, &self.scheme, &self.signer, unsigned, NOW)
    }
}

fn source(scheme: &Arc<Scheme>, secret: SharedSecret) -> Source {
    Source {
        id: SourceId::from_bytes([1; 16]),
        tenant: TenantId::default(),
        settings: SourceSettings {
            name: "provider".to_owned(),
            scheme: Arc::clone(scheme),
            public_url: URL.parse().ok(),
            verify_token: None,
            routes: Vec::new(),
        },
        secrets: SecretRing::new(secret),
        created_at: NOW,
        updated_at: NOW,
    }
}

fn headers(way: &Way) -> Vec<HeaderName> {
    let times = way.time.iter().flat_map(|time| &time.at);
    let fields = way.signature.iter().chain(times).chain(&way.id);
    let named = fields.filter_map(|field| match &field.at {
        At::Header(name) => HeaderName::try_from(name.as_ref()).ok(),
        At::Numbered(name) => HeaderName::try_from(format!("{name}-1")).ok(),
        At::Body(_) | At::Form(_) => None,
    });
    let mut headers: Vec<_> = named.chain([http::header::CONTENT_TYPE]).collect();
    headers.dedup();
    headers
}
