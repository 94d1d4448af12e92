//! What cannot be counted on one machine. Each value is on the expensive side.

const KB: f64 = 1024.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assumptions {
    /// How long the api function takes for a request.
    pub api_seconds: f64,
    pub api_gb: f64,
    /// How long the dispatcher takes for a batch of messages: its attempts run concurrently.
    pub attempt_seconds: f64,
    pub dispatcher_gb: f64,
    /// How long the publisher takes for a batch, and in addition for each change in it.
    pub publisher_seconds: f64,
    pub change_seconds: f64,
    pub publisher_gb: f64,
    /// How long the poller takes when nothing is due.
    pub tick_seconds: f64,
    pub poller_gb: f64,
    /// A line of the HTTP API's access log. Lambda's own lines about each invocation are off by default.
    pub access_line_bytes: f64,
    /// The log line of a successful attempt, and that of a failed one. As measured by a test of the gateway, with the 26
    /// bytes that CloudWatch adds to each line.
    pub delivered_line_bytes: f64,
    pub failed_line_bytes: f64,
    /// A line with metrics.
    pub log_line_bytes: f64,
    /// How much smaller logs are in storage.
    pub log_compression: f64,
    pub log_months: f64,
    /// What an attempt sends in addition to the body: handshake, headers and signature.
    pub request_bytes: f64,
    /// What the API sends back to a publisher.
    pub answer_bytes: f64,
    /// Requests to KMS per invocation that does not share its environment with the one before. Data keys are cached.
    pub key_requests: f64,
    /// How many requests to a queue are open at any time while it is empty, of 20 s each.
    pub pollers: f64,
    /// The same for a queue whose function has a maximum concurrency.
    pub pollers_with_maximum: f64,
}

impl Default for Assumptions {
    fn default() -> Self {
        Self {
            api_seconds: 0.02,
            api_gb: 0.5,
            attempt_seconds: 0.3,
            dispatcher_gb: 0.25,
            publisher_seconds: 0.03,
            change_seconds: 0.002,
            publisher_gb: 0.25,
            tick_seconds: 0.3,
            poller_gb: 0.5,
            access_line_bytes: 300.0,
            delivered_line_bytes: 650.0,
            failed_line_bytes: 950.0,
            log_line_bytes: 600.0,
            log_compression: 0.15,
            log_months: 1.0,
            request_bytes: 3.5 * KB,
            answer_bytes: 0.5 * KB,
            key_requests: 0.001,
            pollers: 2.0,
            pollers_with_maximum: 5.0,
        }
    }
}

impl Assumptions {
    /// Every assumption, as a sentence.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let ms = |seconds: f64| format!("{:.0} ms", seconds * 1000.0);
        let mb = |gb: f64| format!("{:.0} MB", gb * 1024.0);
        vec![
            format!(
                "The api function takes {} at {}, a batch of attempts {} at {}, a batch of changes or watched rows {} and {} per \
                 change at {}, an idle run of the poller {} at {}.",
                ms(self.api_seconds),
                mb(self.api_gb),
                ms(self.attempt_seconds),
                mb(self.dispatcher_gb),
                ms(self.publisher_seconds),
                ms(self.change_seconds),
                mb(self.publisher_gb),
                ms(self.tick_seconds),
                mb(self.poller_gb),
            ),
            format!(
                "A successful attempt logs {:.0} bytes, a failed one {:.0}. The metrics of a batch in which deliveries finished, \
                 of a batch of watched rows and of a run of the poller are {:.0} bytes. The HTTP API logs {:.0} bytes per request. \
                 Lambda's own lines are off (`SystemLogLevel`). Logs are stored for 30 days at {:.0} % of their size.",
                self.delivered_line_bytes,
                self.failed_line_bytes,
                self.log_line_bytes,
                self.access_line_bytes,
                self.log_compression * 100.0,
            ),
            format!(
                "An attempt sends {:.1} KB in addition to the body (handshake, headers, signature), and the API answers with \
                 {:.1} KB.",
                self.request_bytes / KB,
                self.answer_bytes / KB,
            ),
            format!(
                "One request to KMS per {:.0} invocations; data keys are cached.",
                1.0 / self.key_requests,
            ),
            format!(
                "Lambda keeps {:.0} requests of 20 s open to an empty queue, and {:.0} if its function has a maximum \
                 concurrency. Reading the table's stream from Lambda is free.",
                self.pollers, self.pollers_with_maximum,
            ),
        ]
    }
}
