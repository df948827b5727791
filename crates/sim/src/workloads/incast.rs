//! Incast: one client sends requests to all servers at once, in iterations.

use netstudy_random::Stream;
use netstudy_records as records;
use netstudy_records::{Check, Incast, IterationSamples, Roles, Samples, UnitKind};
use netstudy_units::Duration;
use netstudy_workload::{IncastConfig, IncastHost, Until};

use super::{Applications, Stage, Workload, packets_of, phase_plan};
use crate::applications::Cast;
use crate::laws;
use crate::measure::outcome::{Outcome, Sampled};
use crate::wiring::Wiring;

impl Workload for Incast {
    fn cast(&self) -> Result<Cast, String> {
        let Roles { client, server } = &self.roles;
        if client.len() != 1 {
            return Err(format!("an incast needs exactly one client, not {}", client.len()));
        }
        if server.contains(&client[0]) {
            return Err(format!("{:?} is both client and server", client[0]));
        }
        let connections = (1..=server.len()).map(|server| [0, server]).collect();
        Ok(Cast::new(&self.roles, connections, [false, true]))
    }

    fn samples_per_count(&self) -> u64 {
        1
    }

    fn unit(&self) -> UnitKind {
        UnitKind::Iteration
    }

    fn packets_per_sample(&self, run: &records::Run) -> u64 {
        config(run, self).map_or(0, |config| {
            (0..config.servers).map(|server| packets_of(run, config.response_bytes(server))).sum()
        })
    }

    fn samples_seconds(&self) -> bool {
        false
    }

    /// Checks that every byte of every iteration has arrived.
    fn check(&self, run: &records::Run, cast: &Cast, outcome: &Outcome) -> Check {
        let expected = config(run, self).map_or(0, |config| {
            let measured = config.iterations - config.warmup_iterations;
            config.iteration_bytes() * u64::from(measured)
        });
        laws::all_bytes_arrived(outcome.received(cast.connections.len()), expected)
    }

    fn add_samples(&self, sampled: &Sampled, tables: &mut Samples) {
        let dropped_packets = Some(sampled.dropped_packets.clone());
        let iterations = sampled.iterations.clone();
        let retransmissions = Some(iterations.retransmissions.unwrap_or_default());
        let timeouts = Some(iterations.timeouts.unwrap_or_default());
        tables.iteration =
            Some(IterationSamples { dropped_packets, retransmissions, timeouts, ..iterations });
    }

    /// For each connection: the total time for which the client waited for requested data.
    fn busy_ns(&self, cast: &Cast, outcome: &Outcome) -> Vec<u64> {
        let receiving = outcome.grown(cast, &|connection| connection.receiving.as_ps());
        receiving.iter().map(|ps| ps / 1000).collect()
    }
}

impl Applications for Incast {
    fn perform<S: Stage>(
        &self,
        run: &records::Run,
        _cast: &Cast,
        _wiring: &Wiring,
        stage: S,
    ) -> Result<S::Done, String> {
        let config = config(run, self)?;
        let server = |index: u32| {
            let mut stream = Stream::of_server(&run.seed, index + 1);
            let jitter = self.start_jitter.clone();
            IncastHost::server(&config, index, Box::new(move || stream.delay(&jitter)))
        };
        let client = std::iter::once(IncastHost::client(&config));
        stage.perform(client.chain((0..config.servers).map(server)).collect())
    }
}

/// The configuration of an incast, or an error if the plan of the run is invalid.
fn config(run: &records::Run, incast: &Incast) -> Result<IncastConfig, String> {
    let plan = phase_plan(run)?;
    let warmup_iterations = plan.warmup.map_or(Ok(0), counted)?;
    let iterations = counted(plan.measure)?;
    let servers = incast.roles.server.len() as u32;
    // A striped block is divided among the servers; otherwise each server sends a whole block.
    let least_block = if incast.striped { u64::from(servers) } else { 1 };
    if servers == 0 || incast.request_bytes == 0 || incast.block_bytes < least_block {
        return Err("requests and blocks need at least one byte per server".to_owned());
    }
    if iterations == 0 {
        return Err("the measuring phase has no iteration".to_owned());
    }
    Ok(IncastConfig {
        servers,
        block_bytes: incast.block_bytes,
        striped: incast.striped,
        iterations: warmup_iterations + iterations,
        warmup_iterations,
        hold: plan.holds(incast.roles.client.len()),
        request_bytes: incast.request_bytes,
        request_spacing: Duration::from_ns(incast.request_spacing_ns),
    })
}

/// Number of iterations in a phase.
fn counted(until: Until) -> Result<u32, String> {
    match until {
        Until::Count(count) => u32::try_from(count).map_err(|error| error.to_string()),
        Until::Time(_) | Until::Told => Err("the phases of an incast end after a count".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use netstudy_records::Status;

    use crate::run::tests::{Silent, lab};

    /// Status and error of an incast with 20 servers and a block of `block_bytes`.
    fn carried_out(block_bytes: u64, striped: bool) -> (Status, Option<String>) {
        let mut run = lab::run(20, lab::DEEP);
        let incast = lab::incast(&mut run);
        (incast.block_bytes, incast.striped) = (block_bytes, striped);
        let record = crate::run(&run, &mut Silent);
        (record.status, record.error)
    }

    #[test]
    fn each_server_may_send_a_block_of_fewer_bytes_than_there_are_servers() {
        assert_eq!(carried_out(19, false), (Status::Ok, None));
        assert_eq!(carried_out(1, false), (Status::Ok, None));
    }

    #[test]
    fn a_striped_block_has_a_byte_for_each_server() {
        assert_eq!(carried_out(20, true), (Status::Ok, None));
        let (status, error) = carried_out(19, true);
        assert_eq!(status, Status::Failed);
        assert!(error.expect("a reason").contains("at least one byte per server"));
    }
}
