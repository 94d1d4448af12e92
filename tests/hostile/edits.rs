//! How an attacker between a sender and the gateway can change a request.

use arbitrary::Arbitrary;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use postrider_domain::inbound::Inbound;
use postrider_domain::time::{Millis, Timestamp};

/// One change. Headers are given by their index among those that a scheme reads.
#[derive(Arbitrary, Debug)]
pub(super) enum Edit<'a> {
    SetHeader(u8, &'a [u8]),
    AddHeader(u8, &'a [u8]),
    RemoveHeader(u8),
    FlipHeader(u8, u16),
    SetBody(&'a [u8]),
    FlipBody(u16),
    CutBody(u16),
    AddToBody(&'a [u8]),
    SetQuery(Option<&'a str>),
    Move(Move),
    SetMethod(bool),
    Earlier(u32),
    Later(u32),
}

/// This many bytes moved from one part to the next: signed one after another, the parts give the same text.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(super) enum Move {
    /// The body's first bytes become the query's last.
    BodyToQuery(u8),
    /// The query's last bytes become the body's first.
    QueryToBody(u8),
    /// The body's first bytes become a header's last.
    BodyToHeader(u8, u8),
    /// A header's last bytes become the body's first.
    HeaderToBody(u8, u8),
    /// The body's last bytes become a header's first.
    BodyEndToHeader(u8, u8),
}

/// A request in transit, and when it arrives.
pub(super) struct Journey<'n> {
    pub(super) inbound: Inbound,
    pub(super) now: Timestamp,
    pub(super) headers: &'n [HeaderName],
}

impl Journey<'_> {
    pub(super) fn suffer(&mut self, edit: &Edit<'_>) {
        match *edit {
            Edit::SetHeader(which, value) => self.set_header(which, value),
            Edit::AddHeader(which, value) => {
                if let (Some(name), Ok(value)) = (self.name(which), HeaderValue::from_bytes(value))
                {
                    self.inbound.headers.append(name, value);
                }
            }
            Edit::RemoveHeader(which) => {
                if let Some(name) = self.name(which) {
                    self.inbound.headers.remove(name);
                }
            }
            Edit::FlipHeader(which, bit) => {
                let value = flipped(&self.header(which), bit);
                self.set_header(which, &value);
            }
            Edit::SetBody(body) => self.set_body(body),
            Edit::FlipBody(bit) => self.set_body(&flipped(&self.body(), bit)),
            Edit::CutBody(at) => self.inbound.body.truncate(usize::from(at)),
            Edit::AddToBody(more) => self.set_body(&[&self.body(), more].concat()),
            Edit::SetQuery(query) => self.inbound.query = query.map(str::to_owned),
            Edit::SetMethod(is_get) => {
                self.inbound.method = if is_get { Method::GET } else { Method::PUT };
            }
            Edit::Earlier(seconds) => {
                self.now = self.now.minus(Millis::from_seconds(seconds.into()));
            }
            Edit::Later(seconds) => self.now = self.now.plus(Millis::from_seconds(seconds.into())),
            Edit::Move(over) => self.shift(over),
        }
    }

    fn shift(&mut self, over: Move) {
        match over {
            Move::BodyToQuery(count) => {
                let (moved, rest) = split(&self.body(), count.into());
                if let Ok(moved) = String::from_utf8(moved) {
                    let query = self.inbound.query.take().unwrap_or_default();
                    self.inbound.query = Some(query + &moved);
                    self.set_body(&rest);
                }
            }
            Move::QueryToBody(count) => {
                let query = self.inbound.query.take().unwrap_or_default().into_bytes();
                let (kept, moved) = split_last(&query, count.into());
                self.inbound.query = String::from_utf8(kept).ok();
                self.set_body(&[moved, self.body()].concat());
            }
            Move::BodyToHeader(which, count) => {
                let (moved, rest) = split(&self.body(), count.into());
                self.set_header(which, &[self.header(which), moved].concat());
                self.set_body(&rest);
            }
            Move::HeaderToBody(which, count) => {
                let (kept, moved) = split_last(&self.header(which), count.into());
                self.set_header(which, &kept);
                self.set_body(&[moved, self.body()].concat());
            }
            Move::BodyEndToHeader(which, count) => {
                let (kept, moved) = split_last(&self.body(), count.into());
                self.set_header(which, &[moved, self.header(which)].concat());
                self.set_body(&kept);
            }
        }
    }

    fn name(&self, which: u8) -> Option<HeaderName> {
        let at = usize::from(which).checked_rem(self.headers.len())?;
        self.headers.get(at).cloned()
    }

    fn header(&self, which: u8) -> Vec<u8> {
        let value = self
            .name(which)
            .and_then(|name| self.inbound.headers.get(name));
        value.map_or_else(Vec::new, |value| value.as_bytes().to_vec())
    }

    fn set_header(&mut self, which: u8, value: &[u8]) {
        if let (Some(name), Ok(value)) = (self.name(which), HeaderValue::from_bytes(value)) {
            self.inbound.headers.insert(name, value);
        }
    }

    fn body(&self) -> Vec<u8> {
        self.inbound.body.to_vec()
    }

    fn set_body(&mut self, body: &[u8]) {
        self.inbound.body = Bytes::copy_from_slice(body);
    }
}

fn flipped(bytes: &[u8], bit: u16) -> Vec<u8> {
    let mut flipped = bytes.to_vec();
    if let Some(bit) = usize::from(bit).checked_rem(bytes.len() * 8) {
        flipped[bit / 8] ^= 1 << (bit % 8);
    }
    flipped
}

fn split(bytes: &[u8], at: usize) -> (Vec<u8>, Vec<u8>) {
    let (left, right) = bytes.split_at(at.min(bytes.len()));
    (left.to_vec(), right.to_vec())
}

fn split_last(bytes: &[u8], count: usize) -> (Vec<u8>, Vec<u8>) {
    split(bytes, bytes.len().saturating_sub(count))
}
