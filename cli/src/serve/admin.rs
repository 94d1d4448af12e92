//! The first key.

use std::fs;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use postrider_domain::ids::TenantId;
use postrider_domain::key::{KeyDigest, Scope};
use postrider_gateway::Gateway;

/// The file that keeps a key which was made here.
pub(crate) const TOKEN_FILE: &str = "admin-token";
const FROM_ENVIRONMENT: &str = "POSTRIDER_ADMIN_TOKEN";
const MADE_HERE: &str = "admin";

/// Whether the first lines show what lets somebody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// A person reads them.
    Shown,
    /// They end up in a file or a journal, which more people read than may come in.
    Withheld,
}

impl Secrets {
    /// Shown on a terminal only.
    pub(crate) fn to_a_terminal() -> Self {
        if std::io::stdout().is_terminal() {
            Self::Shown
        } else {
            Self::Withheld
        }
    }
}

/// Where the first key is.
pub(crate) enum Admin {
    /// In the environment of this process.
    Environment { digest: KeyDigest },
    /// In a file, made at an earlier start.
    Kept { digest: KeyDigest, file: PathBuf },
    /// In a file, made just now and shown at most this once.
    Made { token: String, file: PathBuf },
}

impl Admin {
    /// What it is known by.
    pub(crate) fn digest(&self) -> KeyDigest {
        match self {
            Self::Environment { digest } | Self::Kept { digest, .. } => *digest,
            Self::Made { token, .. } => KeyDigest::of(token),
        }
    }

    /// Tells a person where it is.
    pub(crate) fn print(&self, secrets: Secrets) {
        match self {
            Self::Environment { .. } => println!("Key:      the one in POSTRIDER_ADMIN_TOKEN"),
            Self::Kept { file, .. } => println!("Key:      in {}", file.display()),
            Self::Made { token, file } if secrets == Secrets::Shown => {
                println!("Key:      {token}");
                println!("          shown this once; kept in {}", file.display());
            }
            Self::Made { file, .. } => {
                println!("Key:      made just now, in {}", file.display());
                println!("          not printed: this is no terminal; --print-login does");
            }
        }
    }
}

/// Makes sure that there is a key with all scopes.
pub(crate) async fn ensure_key(
    gateway: &Gateway,
    data: &Path,
    from_environment: Option<&str>,
) -> anyhow::Result<Admin> {
    let tenant = TenantId::default();
    if let Some(token) = from_environment {
        if gateway.keyring.recognise(token).await?.is_none() {
            gateway
                .keyring
                .replace(&tenant, FROM_ENVIRONMENT, token.to_owned())
                .await?;
        }
        let digest = KeyDigest::of(token);
        return Ok(Admin::Environment { digest });
    }
    let file = data.join(TOKEN_FILE);
    match fs::read_to_string(&file) {
        Ok(text) => {
            let token = text.trim();
            if gateway.keyring.recognise(token).await?.is_some() {
                let digest = KeyDigest::of(token);
                return Ok(Admin::Kept { digest, file });
            }
            // Somebody revoked it: it must not come back with a restart. Another one takes its place.
            fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", file.display()));
        }
    }
    let made = gateway
        .keyring
        .create(&tenant, MADE_HERE, Scope::ALL.to_vec())
        .await?;
    keep(&file, &made.token).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Admin::Made {
        token: made.token,
        file,
    })
}

fn keep(file: &Path, token: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut kept = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    writeln!(kept, "{token}")?;
    kept.sync_all()
}
