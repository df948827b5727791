//! Bulk transfers between pairs of clients and servers.

use netstudy_fabric::topology::Route;
use netstudy_records as records;
use netstudy_records::{Samples, Transfer};
use netstudy_units::Duration;
use netstudy_workload::{
    ClientOrServer, Direction, TransferClient, TransferConfig, TransferServer, TransferShape,
    TransferSize,
};

use super::{Applications, Workload, clients_and_servers, packets_of, phases};
use crate::applications::Cast;
use crate::measure::{Outcome, Sampled};
use crate::wiring::{Capacity, Wiring, carried_bytes};

impl Workload for Transfer {
    fn cast(&self) -> Result<Cast, String> {
        let (gets, puts) = match self.direction {
            records::Direction::Get => (true, false),
            records::Direction::Put => (false, true),
            records::Direction::Both => (true, true),
        };
        Cast::of_pairs(&self.roles, self.flows, [puts, gets])
    }

    fn packets_per_sample(&self, run: &records::Run) -> u64 {
        let ways = if self.direction == records::Direction::Both { 2 } else { 1 };
        self.size_bytes.map_or(0, |bytes| ways * packets_of(run, bytes))
    }

    fn add_samples(&self, sampled: &Sampled, tables: &mut Samples) {
        tables.transfer = Some(sampled.transfers.clone());
        tables.second = Some(sampled.seconds.clone());
    }

    /// In a phase of a count of transfers: the time of the connection's transfers.
    fn busy_ns(&self, cast: &Cast, outcome: &Outcome) -> Vec<u64> {
        if outcome.is_timed {
            return vec![outcome.took().as_ns(); cast.connections.len()];
        }
        let transfers = &outcome.samples.transfers;
        let spans = transfers.start_ns.iter().zip(&transfers.end_ns);
        let mut busy_ns = vec![0; cast.connections.len()];
        for (&connection, (start, end)) in transfers.connection.iter().zip(spans) {
            busy_ns[connection as usize] += end - start;
        }
        busy_ns
    }
}

impl Applications for Transfer {
    type Application = ClientOrServer<TransferClient, TransferServer>;

    fn applications(
        &self,
        run: &records::Run,
        cast: &Cast,
        wiring: &Wiring,
    ) -> Result<Vec<Self::Application>, String> {
        if self.ftp.is_some() {
            return Err("the simulator carries no files by FTP".to_owned());
        }
        let shape = TransferShape {
            direction: match self.direction {
                records::Direction::Get => Direction::Get,
                records::Direction::Put => Direction::Put,
                records::Direction::Both => Direction::Both,
            },
            size: self.size_bytes.map_or_else(|| stream(run, wiring), TransferSize::Fixed),
            request_bytes: self.request_bytes,
        };
        let client = |connections| {
            let config = TransferConfig {
                shape,
                connections,
                pause: Duration::from_ns(self.pause_ns),
                phases: phases(run, &self.roles)?,
            };
            config.check()?;
            Ok(TransferClient::new(&config))
        };
        clients_and_servers(&self.roles, cast, client, || TransferServer::new(shape))
    }
}

/// Payload of a chunk of a stream, as agents have it.
const CHUNK_BYTES: u64 = 65_536;
/// Data requested beyond the capacity of a path: four chunks, or the data that the path carries in this
/// time, so that no end is ever idle.
const TURN: Duration = Duration::from_ms(1);

/// A stream is a series of chunks, with enough of them under way to keep each connection's path full:
/// twice the capacity of the path or a window, and the spare data that agents need. Agents do the same.
fn stream(run: &records::Run, wiring: &Wiring) -> TransferSize {
    let window = run.network.groups.iter().map(|group| group.tcp.receive_buffer_bytes).max();
    let window = u64::from(window.unwrap_or(0));
    let ahead = |route: &Route| {
        let Capacity { slowest, held_bytes } = wiring.capacity(route);
        let turn = (CHUNK_BYTES * 4).max(carried_bytes(slowest, TURN));
        turn + 2 * held_bytes.min(window)
    };
    let ahead_bytes = wiring.routes.iter().map(ahead).max().unwrap_or(CHUNK_BYTES);
    TransferSize::Stream { chunk_bytes: CHUNK_BYTES, ahead_bytes }
}
