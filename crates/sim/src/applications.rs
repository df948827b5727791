//! The application of each host, and the connections between hosts: one function a workload.

use netstudy_random::Stream;
use netstudy_records::Jitter;
use netstudy_workload::{IncastConfig, IncastHost};

use crate::host::Applications;

/// The client is host 0; the server with the index i is host i + 1.
pub(crate) fn incast(
    config: &IncastConfig,
    start_jitter: &Jitter,
    seed: &str,
) -> Applications<IncastHost> {
    let server = |index: u32| {
        let mut stream = Stream::new(seed, &format!("server/{}/start", index + 1));
        let jitter = start_jitter.clone();
        IncastHost::server(config, index, Box::new(move || stream.delay(&jitter)))
    };
    let client = IncastHost::client(config);
    Applications {
        hosts: std::iter::once(client).chain((0..config.servers).map(server)).collect(),
        connections: (1..=config.servers as usize).map(|server| [0, server]).collect(),
    }
}
