//! Requests and responses between pairs of clients and servers.

use netstudy_records as records;
use netstudy_records::{Request, Samples, UnitKind};
use netstudy_units::Duration;
use netstudy_workload::{RequestClient, RequestConfig, RequestServer, RequestShape, Schedule};

use super::{Applications, Stage, Workload, boxed, clients_and_servers, packets_of, phases};
use crate::applications::Cast;
use crate::measure::outcome::Sampled;
use crate::wiring::Wiring;

impl Workload for Request {
    fn cast(&self) -> Result<Cast, String> {
        Cast::of_pairs(&self.roles, self.connections, [true, true])
    }

    fn unit(&self) -> UnitKind {
        UnitKind::Request
    }

    fn packets_per_sample(&self, run: &records::Run) -> u64 {
        packets_of(run, self.request_bytes) + packets_of(run, self.response_bytes)
    }

    /// Histograms of latencies are not added here, because every record gets them: a probe needs
    /// them too.
    fn add_samples(&self, sampled: &Sampled, tables: &mut Samples) {
        tables.second = Some(sampled.seconds.clone());
    }
}

impl Applications for Request {
    fn perform<S: Stage>(
        &self,
        run: &records::Run,
        cast: &Cast,
        _wiring: &Wiring,
        stage: S,
    ) -> Result<S::Done, String> {
        let shape =
            RequestShape { request_bytes: self.request_bytes, response_bytes: self.response_bytes };
        let think = Duration::from_ns(self.think_ns);
        let closed = Schedule::Closed { outstanding: self.outstanding, think };
        let every = |ns| Schedule::Every(Duration::from_ns(ns));
        let client = |_, connections| {
            let schedule = self.every_ns.map_or(closed, every);
            let phases = phases(run, &self.roles)?;
            let config = RequestConfig { shape, connections, schedule, phases };
            config.check()?;
            Ok(RequestClient::new(&config))
        };
        let server = |_| Ok(RequestServer::new(shape).in_writes(self.writes)?);
        stage.perform(boxed(clients_and_servers(&self.roles, cast, client, server)?))
    }
}
