//! An HTTP client for the SDK whose requests go to a function instead of a network.

use std::fmt;
use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::calls::Reply;

/// A request of the SDK.
#[derive(Clone, Debug)]
pub struct Request {
    /// The service and the operation, such as `DynamoDB_20120810.GetItem`; empty for S3.
    pub target: String,
    pub method: String,
    pub path: String,
    /// What a request to S3 copies.
    pub copy_source: Option<String>,
    pub body: Bytes,
}

#[derive(Clone, Debug)]
pub struct SdkResponse {
    pub status: u16,
    pub body: Bytes,
}

impl From<Reply> for SdkResponse {
    fn from(reply: Reply) -> Self {
        Self {
            status: reply.status,
            body: reply.body.to_string().into(),
        }
    }
}

/// A request that was not answered. It may have had its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAnswer;

/// Answers requests.
pub trait Transport: Send + Sync {
    fn call(&self, request: Request) -> BoxFuture<'static, Result<SdkResponse, NoAnswer>>;
}

struct Connector(Arc<dyn Transport>);

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let header = |name| request.headers().get(name).map(ToOwned::to_owned);
        let body = request.body().bytes().unwrap_or_default();
        let request = Request {
            target: header("x-amz-target").unwrap_or_default(),
            method: request.method().to_owned(),
            path: path(request.uri()),
            copy_source: header("x-amz-copy-source"),
            body: Bytes::copy_from_slice(body),
        };
        let answer = self.0.call(request);
        HttpConnectorFuture::new(answer.map(|answer| match answer {
            Ok(SdkResponse { status, body }) => {
                let status = status.try_into().expect("a status");
                let length = body.len().to_string();
                let mut response = HttpResponse::new(status, SdkBody::from(body));
                response.headers_mut().insert("content-length", length);
                Ok(response)
            }
            Err(NoAnswer) => Err(ConnectorError::timeout("no answer".into())),
        }))
    }
}

/// The path of a URI, without its query.
fn path(uri: &str) -> String {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    path.split('?').next().unwrap_or_default().to_owned()
}

/// A client whose requests this transport answers.
#[must_use]
pub fn http_client(transport: Arc<dyn Transport>) -> SharedHttpClient {
    http_client_fn(move |_, _| SharedHttpConnector::new(Connector(Arc::clone(&transport))))
}
