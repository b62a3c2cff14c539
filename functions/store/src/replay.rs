//! AWS for unit tests: answers that were written down, one per request, and the requests as they were sent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::RetryConfig;
use aws_types::SdkConfig;
use aws_types::region::Region;

use crate::session::behavior;

/// A request as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) uri: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Sent {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// One answer.
pub(crate) enum Answer {
    Http {
        status: u16,
        headers: Vec<(&'static str, &'static str)>,
        body: &'static str,
    },
    /// The connection broke after the request went out.
    Lost,
    /// No answer in time.
    TimedOut,
}

pub(crate) fn answer(status: u16, body: &'static str) -> Answer {
    Answer::Http { status, headers: Vec::new(), body }
}

impl Answer {
    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        if let Answer::Http { headers, .. } = &mut self {
            headers.push((name, value));
        }
        self
    }
}

/// The other side: gives its answers in order and keeps what it was sent.
#[derive(Clone)]
pub(crate) struct Replay {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Replay")
    }
}

impl Replay {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Replay { answers: Arc::new(Mutex::new(answers.into_iter().collect())), sent: Arc::default() }
    }

    /// A configuration that reaches this side only.
    pub(crate) fn config(&self) -> SdkConfig {
        let connector = SharedHttpConnector::new(self.clone());
        SdkConfig::builder()
            .behavior_version(behavior())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new("AKID", "secret", None, None, "test")))
            .http_client(http_client_fn(move |_, _| connector.clone()))
            .retry_config(RetryConfig::standard().with_max_attempts(3))
            .build()
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    /// Every answer was asked for.
    pub(crate) fn is_used_up(&self) -> bool {
        self.answers.lock().unwrap().is_empty()
    }
}

impl HttpConnector for Replay {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.sent.lock().unwrap().push(Sent {
            method: request.method().to_owned(),
            uri: request.uri().to_owned(),
            headers: request.headers().iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
            body: String::from_utf8_lossy(request.body().bytes().unwrap_or_default()).into_owned(),
        });
        let next = self.answers.lock().unwrap().pop_front();
        HttpConnectorFuture::ready(match next.expect("one more request than answers") {
            Answer::Lost => Err(ConnectorError::io("connection reset".into())),
            Answer::TimedOut => Err(ConnectorError::timeout("no answer in time".into())),
            Answer::Http { status, headers, body } => {
                let mut response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body));
                for (name, value) in headers {
                    response.headers_mut().insert(name, value);
                }
                Ok(response)
            }
        })
    }
}
