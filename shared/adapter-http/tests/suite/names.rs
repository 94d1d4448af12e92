//! A name server on loopback whose answers can be changed while it runs.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use hickory_server::Server;
use hickory_server::net::runtime::Time;
use hickory_server::proto::op::{Metadata, ResponseCode};
use hickory_server::proto::rr::rdata::CNAME;
use hickory_server::proto::rr::{Name, RData, Record, RecordType};
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponseBuilder;
use tokio::net::UdpSocket;

/// The answer for a name.
#[derive(Clone)]
pub(crate) enum Answer {
    Addresses(Vec<IpAddr>),
    /// The first list once per record type, then the second.
    FirstThen(Vec<IpAddr>, Vec<IpAddr>),
    Alias(&'static str, Vec<IpAddr>),
    Code(ResponseCode),
    Nothing,
}

#[derive(Default)]
struct Zone {
    answers: HashMap<String, Answer>,
    questions: HashMap<(String, RecordType), usize>,
}

pub(crate) struct Names {
    pub(crate) addr: SocketAddr,
    zone: Arc<Mutex<Zone>>,
    _server: Server<Handler>,
}

struct Handler(Arc<Mutex<Zone>>);

pub(crate) fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

impl Names {
    pub(crate) async fn start() -> Self {
        let zone = Arc::new(Mutex::new(Zone::default()));
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let addr = socket.local_addr().unwrap();
        let mut server = Server::new(Handler(Arc::clone(&zone)));
        server.register_socket(socket);
        Self {
            addr,
            zone,
            _server: server,
        }
    }

    pub(crate) fn set(&self, name: &str, answer: Answer) {
        self.zone
            .lock()
            .unwrap()
            .answers
            .insert(format!("{name}."), answer);
    }

    /// How often the IPv4 addresses of a name were queried.
    pub(crate) fn questions(&self, name: &str) -> usize {
        let zone = self.zone.lock().unwrap();
        zone.questions
            .get(&(format!("{name}."), RecordType::A))
            .copied()
            .unwrap_or(0)
    }
}

impl Zone {
    fn answer(&mut self, name: &str, kind: RecordType) -> Answer {
        let count = self.questions.entry((name.to_owned(), kind)).or_default();
        *count += 1;
        match self.answers.get(name).cloned() {
            None => Answer::Code(ResponseCode::NXDomain),
            Some(Answer::FirstThen(first, _)) if *count == 1 => Answer::Addresses(first),
            Some(Answer::FirstThen(_, then)) => Answer::Addresses(then),
            Some(other) => other,
        }
    }
}

fn records(name: &Name, kind: RecordType, addresses: &[IpAddr]) -> Vec<Record> {
    let of_kind = |ip: &&IpAddr| ip.is_ipv4() == (kind == RecordType::A);
    let record = |ip: &IpAddr| Record::from_rdata(name.clone(), 0, RData::from(*ip));
    addresses.iter().filter(of_kind).map(record).collect()
}

#[async_trait::async_trait]
impl RequestHandler for Handler {
    async fn handle_request<R: ResponseHandler, T: Time>(
        &self,
        request: &Request,
        mut to: R,
    ) -> ResponseInfo {
        let query = request.request_info().unwrap().query;
        let (name, kind) = (Name::from(query.name()), query.query_type());
        let answer = self.0.lock().unwrap().answer(&name.to_string(), kind);
        let mut metadata = Metadata::response_from_request(&request.metadata);
        let records = match answer {
            Answer::Addresses(addresses) => records(&name, kind, &addresses),
            Answer::FirstThen(..) => unreachable!("resolved by the zone"),
            Answer::Alias(target, addresses) => {
                let target = Name::from_ascii(target).unwrap();
                let alias = Record::from_rdata(name, 0, RData::CNAME(CNAME(target.clone())));
                std::iter::once(alias)
                    .chain(records(&target, kind, &addresses))
                    .collect()
            }
            Answer::Code(code) => {
                metadata.response_code = code;
                Vec::new()
            }
            Answer::Nothing => std::future::pending().await,
        };
        let response = MessageResponseBuilder::from_message_request(request).build(
            metadata,
            &records,
            [],
            [],
            [],
        );
        to.send_response(response).await.unwrap()
    }
}
