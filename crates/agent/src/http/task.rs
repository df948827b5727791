//! The HTTP task of an agent.

use std::net::{IpAddr, SocketAddr};

use netstudy_random::Stream;
use netstudy_records::HttpRequest;
use netstudy_units::Duration;
use netstudy_workload::transactions::Generator;

/// See [`netstudy_records::AgentWorkload::TransactionClient`].
pub(crate) struct HttpTask {
    pub(crate) generator: Generator<Stream>,
    /// For each operation whose requests the plan lists: these requests.
    pub(crate) requests: Vec<Vec<HttpRequest>>,
    pub(crate) target: SocketAddr,
    pub(crate) local: IpAddr,
    pub(crate) host: String,
    pub(crate) request_timeout: Duration,
    /// A name that no other load generator of this run or any other run has.
    pub(crate) name: String,
}
