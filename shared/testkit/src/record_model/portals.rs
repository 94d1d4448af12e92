//! Links to the portal, the end of a portal, and sessions that were ended.

use std::collections::BTreeMap;

use postrider_domain::key::{KeyDigest, Scope};
use postrider_domain::portal::{LONGEST_ACCESS, PortalLink};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::sessions::SessionId;
use proptest::prelude::*;

use super::Model;

/// How long a link is valid, from the shortest time to the longest.
const LINKS_LAST: [u64; 3] = [60, 300, 86_400];
/// No session lasts longer than a day.
const SESSIONS_LAST: [u64; 3] = [60, 4 * 3_600, 86_400];
/// Under the same ids for both tenants.
const SESSIONS: u8 = 4;

#[derive(Clone, Debug)]
pub(super) enum PortalCommand {
    AddLink { seconds: u64 },
    UseLink { link: usize },
    EndPortal,
    EndSession { session: u8, seconds: u64 },
}

pub(super) fn command() -> impl Strategy<Value = PortalCommand> {
    let sessions = (0..SESSIONS, prop::sample::select(&SESSIONS_LAST[..]));
    prop_oneof![
        3 => prop::sample::select(&LINKS_LAST[..])
            .prop_map(|seconds| PortalCommand::AddLink { seconds }),
        4 => any::<usize>().prop_map(|link| PortalCommand::UseLink { link }),
        1 => Just(PortalCommand::EndPortal),
        2 => sessions.prop_map(|(session, seconds)| PortalCommand::EndSession { session, seconds }),
    ]
}

#[derive(Default)]
pub(super) struct Portal {
    /// Every link, and whether it was used.
    links: Vec<(PortalLink, bool)>,
    ended_at: Option<Timestamp>,
    /// Until when the sessions would have lasted that were ended.
    ended: BTreeMap<u8, Timestamp>,
}

impl Model {
    pub(super) async fn do_with_portals(
        &mut self,
        command: &PortalCommand,
    ) -> Result<(), TestCaseError> {
        match *command {
            PortalCommand::AddLink { seconds } => self.add_link(seconds).await,
            PortalCommand::UseLink { link } => self.use_link(link).await,
            PortalCommand::EndPortal => {
                self.ours.portal.ended_at = Some(self.now);
                let (store, tenant) = (self.store(), &self.ours.tenant);
                prop_assert_eq!(store.end_portal(tenant, self.now).await, Ok(()));
                Ok(())
            }
            PortalCommand::EndSession { session, seconds } => {
                self.end_session(session, seconds).await
            }
        }
    }

    async fn add_link(&mut self, seconds: u64) -> Result<(), TestCaseError> {
        let digest = KeyDigest::of(&format!("{:?}", self.unique()));
        let n = self.draw();
        let link = PortalLink {
            digest,
            tenant: self.ours.tenant.clone(),
            scopes: vec![Scope::Read, Scope::Manage],
            issuer: KeyDigest::of("issuer"),
            return_url: n
                .is_multiple_of(2)
                .then(|| format!("https://app.example/{n}")),
            created_at: self.now,
            expires_at: self.now.plus(Millis::from_seconds(seconds)),
        };
        self.ours.portal.links.push((link.clone(), false));
        prop_assert_eq!(self.store().add_portal_link(link).await, Ok(()));
        Ok(())
    }

    async fn use_link(&mut self, link: usize) -> Result<(), TestCaseError> {
        let (now, count) = (self.now, self.ours.portal.links.len());
        let Some(place) = link.checked_rem(count) else {
            return Ok(());
        };
        let (link, is_used) = &mut self.ours.portal.links[place];
        let is_valid = !*is_used && link.expires_at > now;
        *is_used |= is_valid;
        let expected = is_valid.then(|| link.clone());
        let digest = link.digest;
        let used = self.store().use_portal_link(digest, now).await;
        prop_assert_eq!(used, Ok(expected));
        Ok(())
    }

    /// A session ends again as it did before.
    async fn end_session(&mut self, session: u8, seconds: u64) -> Result<(), TestCaseError> {
        let now = self.now;
        let until = now.plus(Millis::from_seconds(seconds));
        let ended = self.ours.portal.ended.entry(session).or_insert(until);
        if *ended <= now {
            *ended = until;
        }
        let until = *ended;
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let ended = store.end_session(tenant, session_id(session), until).await;
        prop_assert_eq!(ended, Ok(()));
        Ok(())
    }

    /// What is over may be forgotten.
    pub(super) async fn compare_portals(&self) -> Result<(), TestCaseError> {
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let expected = self.ours.portal.ended_at;
        let found = store.portal_ended_at(tenant).await.unwrap();
        let is_over = expected.is_some_and(|at| at.plus(LONGEST_ACCESS) < self.now);
        let is_right = found == expected || (is_over && found.is_none());
        prop_assert!(is_right, "the portal ended at {:?}", found);
        for session in 0..SESSIONS {
            let found = store.has_ended(tenant, session_id(session)).await.unwrap();
            match self.ours.portal.ended.get(&session) {
                Some(until) if *until <= self.now => {}
                ended => prop_assert_eq!(found, ended.is_some(), "session {}", session),
            }
        }
        Ok(())
    }
}

fn session_id(session: u8) -> SessionId {
    SessionId([session; 16])
}
