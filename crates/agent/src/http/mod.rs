//! Users of an application over HTTP/1.1, on the kernel's TCP: a generator of load.
//!
//! One thread drives all users ([`client`]): `netstudy_workload::transactions` decides who sends which request and
//! when, [`pages`] writes it as HTTP, [`parser`] reads the answers, and [`books`] records them.

mod books;
mod client;
mod cookies;
mod link;
mod pages;
mod parser;

use std::net::{IpAddr, SocketAddr};

use netstudy_random::Stream;
use netstudy_records::HttpRequest;
use netstudy_units::Duration;
use netstudy_workload::transactions::Generator;

pub(crate) use client::run;

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
