//! The first key.

use std::fs;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use postrider_adapter_local::sync_name;
use postrider_domain::ids::TenantId;
use postrider_domain::key::{KeyDigest, Scope};
use postrider_gateway::Gateway;
use postrider_gateway::keyring::ADMIN_KEY;

use tracing::warn;

use crate::client::TOKEN_FILE;

const GENERATED: &str = "admin";

/// Whether the startup output contains the key and the login link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// The operator reads it on a terminal, or asked for it.
    Shown,
    /// It ends up in a file or a journal, which people without access to the gateway may read.
    Withheld,
}

impl Secrets {
    pub(crate) fn to_a_terminal() -> Self {
        if std::io::stdout().is_terminal() {
            Self::Shown
        } else {
            Self::Withheld
        }
    }
}

pub(crate) enum Admin {
    /// From the environment of this process.
    Environment { digest: KeyDigest },
    /// The one in the environment was revoked, and stays so.
    Revoked { digest: KeyDigest },
    /// In a file, generated at an earlier start.
    Stored { digest: KeyDigest, file: PathBuf },
    /// In a file, generated just now and shown at most once.
    Generated { token: String, file: PathBuf },
}

impl Admin {
    pub(crate) fn digest(&self) -> KeyDigest {
        match self {
            Self::Environment { digest }
            | Self::Revoked { digest }
            | Self::Stored { digest, .. } => *digest,
            Self::Generated { token, .. } => KeyDigest::of(token),
        }
    }

    /// Prints where the key is.
    pub(crate) fn print(&self, secrets: Secrets) {
        match self {
            Self::Environment { .. } => println!("Key:       set by POSTRIDER_ADMIN_TOKEN"),
            Self::Revoked { .. } => {
                println!(
                    "Key:       the key in POSTRIDER_ADMIN_TOKEN was revoked; set another one, or use another key"
                );
            }
            Self::Stored { file, .. } => println!("Key:       stored in {}", file.display()),
            Self::Generated { token, file } if secrets == Secrets::Shown => {
                println!("Key:       {token}");
                println!("           shown only once; stored in {}", file.display());
            }
            Self::Generated { file, .. } => {
                println!("Key:       generated and stored in {}", file.display());
                println!(
                    "           not printed because stdout is not a terminal (use --print-login)"
                );
            }
        }
    }
}

/// Ensures that a key with all scopes exists.
pub(crate) async fn ensure_key(
    gateway: &Gateway,
    data: &Path,
    from_environment: Option<&str>,
) -> anyhow::Result<Admin> {
    let tenant = TenantId::default();
    if let Some(token) = from_environment {
        let digest = KeyDigest::of(token);
        if gateway.keyring.is_revoked(token).await? {
            warn!(
                event = "serve.admin_token_revoked",
                "the key in POSTRIDER_ADMIN_TOKEN was revoked and is not accepted"
            );
            return Ok(Admin::Revoked { digest });
        }
        if gateway.keyring.recognise(token).await?.is_none() {
            gateway
                .keyring
                .replace(&tenant, ADMIN_KEY, token.to_owned())
                .await?;
        }
        return Ok(Admin::Environment { digest });
    }
    let file = data.join(TOKEN_FILE);
    match fs::read_to_string(&file) {
        Ok(text) => {
            let token = text.trim();
            if gateway.keyring.recognise(token).await?.is_some() {
                let digest = KeyDigest::of(token);
                return Ok(Admin::Stored { digest, file });
            }
            // The key was revoked and must not be valid again after a restart. A new one replaces it.
            fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", file.display()));
        }
    }
    let generated = gateway
        .keyring
        .create(&tenant, GENERATED, Scope::ALL.to_vec())
        .await?;
    store(&file, &generated.token).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Admin::Generated {
        token: generated.token,
        file,
    })
}

fn store(path: &Path, token: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    writeln!(file, "{token}")?;
    file.sync_all()?;
    sync_name(path)
}
