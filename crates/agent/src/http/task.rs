//! The HTTP task of an agent.

use std::net::{IpAddr, SocketAddr};

use netstudy_random::Stream;
use netstudy_records::HttpRequest;
use netstudy_units::Duration;
use netstudy_workload::transactions::Generator;

/// As [`netstudy_records::AgentWorkload::TransactionClient`].
pub(crate) struct HttpTask {
    pub(crate) generator: Generator<Stream>,
    /// The requests of each operation that the plan has in full.
    pub(crate) requests: Vec<Vec<HttpRequest>>,
    pub(crate) target: SocketAddr,
    pub(crate) local: IpAddr,
    pub(crate) host: String,
    pub(crate) request_timeout: Duration,
    /// A name that no other generator has, of this run or another.
    pub(crate) name: String,
}
