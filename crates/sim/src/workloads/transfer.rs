//! Bulk transfers between pairs of clients and servers.

use netstudy_records as records;
use netstudy_records::{Check, PhaseKind, Samples, Transfer, TransferSamples, UnitKind, Until};
use netstudy_units::Duration;
use netstudy_workload::ftp::FtpConfig;
use netstudy_workload::{
    ClientOrServer, Direction, TransferClient, TransferConfig, TransferServer, TransferShape,
    TransferSize,
};

use super::ftp::{ClientHost, ControlText, File, FlowParts, FtpHost, ServerHost};
use super::{Applications, Stage, Workload, clients_and_servers, packets_of, phases};
use crate::applications::Cast;
use crate::host::files::{Carrier, FileCosts, Free, StationedFiles};
use crate::laws;
use crate::measure::outcome::{Outcome, Sampled};
use crate::wiring::Wiring;

impl Workload for Transfer {
    fn cast(&self) -> Result<Cast, String> {
        let (gets, puts) = match self.direction {
            records::Direction::Get => (true, false),
            records::Direction::Put => (false, true),
            records::Direction::Both => (true, true),
        };
        let cast = Cast::of_pairs(&self.roles, self.flows, [puts, gets])?;
        Ok(if self.ftp.is_some() { cast.with_controls() } else { cast })
    }

    fn unit(&self) -> UnitKind {
        if self.size_bytes.is_some() { UnitKind::Transfer } else { UnitKind::Interval }
    }

    fn packets_per_sample(&self, run: &records::Run) -> u64 {
        let ways = if self.direction == records::Direction::Both { 2 } else { 1 };
        self.size_bytes.map_or(0, |bytes| ways * packets_of(run, bytes))
    }

    /// Transfers of files have another law: all files are complete, and their number is as planned.
    fn check(&self, run: &records::Run, cast: &Cast, outcome: &Outcome) -> Check {
        let (Some(_), Some(bytes)) = (self.ftp, self.size_bytes) else {
            return laws::nothing_is_owed(outcome);
        };
        let transfers = &outcome.samples.transfers;
        let sizes = transfers.bytes_received.iter().zip(&transfers.bytes_sent);
        let wrong = sizes.filter(|(received, sent)| *received + *sent != bytes).count();
        let count = run.phases.iter().find(|phase| phase.kind == PhaseKind::Measure);
        let found = transfers.connection.len();
        let planned = match count.and_then(|phase| phase.until) {
            Some(Until::Count { count }) => count as usize * cast.connections.len(),
            _ => found,
        };
        laws::all_files_are_whole(found, planned, bytes, wrong)
    }

    fn add_samples(&self, sampled: &Sampled, tables: &mut Samples) {
        let first_byte_ns = self.ftp.map(|_| sampled.first_bytes_ns.clone());
        tables.transfer = Some(TransferSamples { first_byte_ns, ..sampled.transfers.clone() });
        tables.second = Some(sampled.seconds.clone());
    }

    /// If the phase ends after a count of transfers: for each connection, the total time of its
    /// transfers.
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
    fn perform<S: Stage>(
        &self,
        run: &records::Run,
        cast: &Cast,
        wiring: &Wiring,
        stage: S,
    ) -> Result<S::Done, String> {
        match self.ftp {
            Some(ftp) => stage.perform(files(self, ftp, run, cast, wiring)?),
            None => stage.perform(streams(self, run, cast)?),
        }
    }
}

/// Clients and servers that transfer data on the connection on which it was requested.
fn streams(
    work: &Transfer,
    run: &records::Run,
    cast: &Cast,
) -> Result<Vec<ClientOrServer<TransferClient, TransferServer>>, String> {
    let shape = TransferShape {
        direction: match work.direction {
            records::Direction::Get => Direction::Get,
            records::Direction::Put => Direction::Put,
            records::Direction::Both => Direction::Both,
        },
        size: work.size_bytes.map_or(TransferSize::Stream, TransferSize::Fixed),
        request_bytes: work.request_bytes,
    };
    if !work.starts_ns.is_empty() && work.starts_ns.len() != cast.connections.len() {
        return Err("there is a start for each connection, or none".to_owned());
    }
    let starts = |member: usize| {
        let all = cast.connections.iter().zip(&work.starts_ns);
        let own = all.filter(|(ends, _)| ends.contains(&member));
        own.map(|(_, &ns)| Duration::from_ns(ns)).collect()
    };
    let client = |member, connections| {
        let config = TransferConfig {
            shape,
            connections,
            pause: Duration::from_ns(work.pause_ns),
            phases: phases(run, &work.roles)?,
        };
        // Each configuration is checked, because the number of connections differs between clients.
        config.check()?;
        Ok(TransferClient::new(&config).starting_after(starts(member)))
    };
    clients_and_servers(&work.roles, cast, client, |_| Ok(TransferServer::new(shape)))
}

/// Clients and servers that transfer files by FTP.
fn files(
    work: &Transfer,
    ftp: records::Ftp,
    run: &records::Run,
    cast: &Cast,
    wiring: &Wiring,
) -> Result<Vec<FtpHost>, String> {
    if run.probe.is_some() {
        return Err("a probe cannot run with file transfers by FTP".to_owned());
    }
    let bytes = work.size_bytes.ok_or("ftp carries files, which have a size")?;
    let is_put = match work.direction {
        records::Direction::Get => false,
        records::Direction::Put => true,
        records::Direction::Both => return Err("ftp carries a file one way".to_owned()),
    };
    let file = File { bytes, is_put };
    // Simulated segments carry no text, so both ends of a control connection share it here.
    let texts: Vec<_> = cast.connections.iter().map(|_| ControlText::default()).collect();
    let syncs = ftp.sink == records::FileSink::SyncedDisk;
    let sends = |member: usize| is_put == (member < work.roles.client.len());
    let costs = |member: usize, flow: usize, job| -> Result<Box<dyn FileCosts>, String> {
        let name = wiring.name_of(member);
        let on_disk = if sends(member) {
            ftp.source == records::FileSource::Disk
        } else {
            matches!(ftp.sink, records::FileSink::Disk | records::FileSink::SyncedDisk)
        };
        let stations = wiring.stations_of(member);
        if on_disk && stations.is_some_and(|stations| !stations.borrow().has_disk()) {
            return Err(format!("{name:?} has no disk: give it one, or keep its files in memory"));
        }
        let Some(stations) = stations else { return Ok(Box::new(Free)) };
        let flow = (cast.connections.len() * member + flow) as u32;
        let traced = (&wiring.trace, job);
        Ok(Box::new(StationedFiles::new(stations, traced, ftp, bytes, flow, !is_put)))
    };
    let flows = |member: usize| -> Result<Vec<FlowParts>, String> {
        let here = cast.connections.iter().zip(&texts).filter(|(ends, _)| ends.contains(&member));
        let room_bytes = wiring.send_buffer_bytes(member);
        let flow = |(number, (_, text)): (usize, (_, &ControlText))| {
            let [session, job] = [wiring.trace.job(), wiring.trace.job()];
            let costs = costs(member, number, job)?;
            let carrier = Carrier::new(costs, syncs, room_bytes, (&wiring.trace, job));
            Ok(FlowParts { text: text.clone(), carrier, session })
        };
        here.enumerate().map(flow).collect()
    };
    let client = |member, _| {
        let pause = Duration::from_ns(work.pause_ns);
        let config = FtpConfig { pause, phases: phases(run, &work.roles)? };
        config.check()?;
        Ok(ClientHost::new(config, file, flows(member)?, wiring.trace.clone()))
    };
    clients_and_servers(&work.roles, cast, client, |member| {
        Ok(ServerHost::new(file, flows(member)?, wiring.trace.clone()))
    })
}
