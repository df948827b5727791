//! Participants of a workload, the connections between them, and the probe that runs with them.

use netstudy_records as records;
use netstudy_records::Roles;
use netstudy_units::Duration;
use netstudy_workload::{Application, Beside, Probe, RequestServer, RequestShape, Traffic};

use crate::phases::PhasePlan;
use crate::wiring::Participant;

/// The participants of a workload, and the connections between them.
pub(crate) struct Cast {
    /// Clients first, then servers, each in the order of its role.
    pub(crate) participants: Vec<Participant>,
    /// The participant that opens each connection, and its peer. An application numbers its connections
    /// in this order.
    pub(crate) connections: Vec<[usize; 2]>,
    /// Control connections: one per connection, in the same order, or none; numbered after them.
    pub(crate) controls: Vec<[usize; 2]>,
    /// Connections between servers, numbered after these.
    inner: Vec<[usize; 2]>,
    /// The probe's connections, numbered after these: one for each pair that has connections.
    probes: Vec<[usize; 2]>,
    /// Whether the end that opens a connection sends data, and whether its peer does; requests and
    /// confirmations are no data.
    pub(crate) senders: [bool; 2],
}

impl Cast {
    /// A cast without a probe.
    pub(crate) fn new(roles: &Roles, connections: Vec<[usize; 2]>, senders: [bool; 2]) -> Self {
        let participants = participants(roles);
        let [controls, inner, probes] = [const { Vec::new() }; 3];
        Self { participants, connections, controls, inner, probes, senders }
    }

    /// The same with a control connection for each connection.
    pub(crate) fn with_controls(self) -> Self {
        Self { controls: self.connections.clone(), ..self }
    }

    /// The same with connections between servers.
    pub(crate) fn with_inner(self, inner: Vec<[usize; 2]>) -> Self {
        Self { inner, ..self }
    }

    /// The same with the probe's connections.
    pub(crate) fn with_probes(mut self) -> Self {
        for pair in &self.connections {
            if !self.probes.contains(pair) {
                self.probes.push(*pair);
            }
        }
        self
    }

    /// As many pairs as the larger role has members; the smaller role repeats.
    pub(crate) fn of_pairs(
        roles: &Roles,
        connections: u32,
        senders: [bool; 2],
    ) -> Result<Self, String> {
        let (clients, servers) = (roles.client.len(), roles.server.len());
        if clients == 0 || servers == 0 || connections == 0 {
            return Err("a workload has a client, a server and a connection".to_owned());
        }
        let pairs = roles.pairs().map(|[client, server]| [client, clients + server]);
        let connections = pairs.flat_map(|pair| (0..connections).map(move |_| pair)).collect();
        Ok(Self::new(roles, connections, senders))
    }

    /// Number of connections that carry files: each has a control connection.
    pub(crate) const fn file_connections(&self) -> usize {
        self.controls.len()
    }

    /// Number of participants that open connections: all before the servers.
    pub(crate) fn clients(&self) -> usize {
        self.connections.iter().map(|pair| pair[0] + 1).max().unwrap_or(0)
    }

    /// The connections of the workload, their control connections, the connections between servers, then
    /// the probe's.
    pub(crate) fn all_connections(&self) -> Vec<[usize; 2]> {
        let own = self.connections.iter().chain(&self.controls).chain(&self.inner);
        own.chain(&self.probes).copied().collect()
    }

    /// Number of the workload's connections that a participant has.
    pub(crate) fn connections_of(&self, participant: usize) -> u32 {
        count_of(&self.connections, participant) + count_of(&self.inner, participant)
    }
}

fn count_of(connections: &[[usize; 2]], participant: usize) -> u32 {
    connections.iter().filter(|pair| pair.contains(&participant)).count() as u32
}

fn participants(roles: &Roles) -> Vec<Participant> {
    let Roles { client, server } = roles;
    let is_single = client.len() == 1;
    let clients = client.iter().zip(1..).map(|(role, number)| Participant {
        role: role.clone(),
        stream: if is_single { "client".to_owned() } else { format!("client/{number}") },
    });
    let servers = server.iter().zip(1..).map(|(role, number): (_, u32)| Participant {
        role: role.clone(),
        stream: format!("server/{number}"),
    });
    clients.chain(servers).collect()
}

/// The applications of a workload, each joined with its side of the probe. Boxed, so that the path of a
/// packet is compiled once for all probed workloads.
pub(crate) fn probed<T: Traffic + 'static>(
    probe: &records::Probe,
    phases: &PhasePlan,
    cast: &Cast,
    workload: Vec<T>,
) -> Result<Vec<Box<dyn Application>>, String> {
    let shape =
        RequestShape { request_bytes: probe.request_bytes, response_bytes: probe.response_bytes };
    shape.check()?;
    if probe.every_ns == 0 {
        return Err("between two requests of a probe there is time".to_owned());
    }
    let clients = cast.clients();
    let every = Duration::from_ns(probe.every_ns);
    let idle = phases.idle.unwrap_or(Duration::ZERO);
    // The probe must rest at the edges as the workload does, or its packets would be counted in both phases.
    let hold = phases.holds(clients);
    let beside = |(number, workload): (usize, T)| {
        let connections = cast.connections_of(number);
        if number < clients {
            let probe = Probe::new(shape, count_of(&cast.probes, number), every);
            Box::new(Beside::new(workload, connections, probe, idle, hold)) as Box<dyn Application>
        } else {
            let server = RequestServer::new(shape);
            Box::new(Beside::new(workload, connections, server, Duration::ZERO, hold))
        }
    };
    Ok(workload.into_iter().enumerate().map(beside).collect())
}
