//! Who takes part in a workload, with which application, and the connections between them: one function
//! a workload.

use netstudy_random::Stream;
use netstudy_records as records;
use netstudy_records::{PhaseKind, Roles, Until, Workload};
use netstudy_units::Duration;
use netstudy_workload::{IncastConfig, IncastHost};

use crate::wiring::Participant;

/// Who takes part in a workload, and who talks to whom.
pub(crate) struct Cast {
    /// Clients first, then servers, each in the order of its role.
    pub(crate) participants: Vec<Participant>,
    /// The participant that opens each connection, and its peer. An application numbers those of its
    /// connections in this order.
    pub(crate) connections: Vec<[usize; 2]>,
    /// Whether the end that opens a connection sends data, and whether its peer does; requests and
    /// confirmations are no data.
    pub(crate) senders: [bool; 2],
}

impl Cast {
    /// Reads it out of a workload, or says what does not fit.
    pub(crate) fn new(workload: &Workload) -> Result<Self, String> {
        match workload {
            Workload::Incast(incast) => Self::of_incast(incast),
            Workload::Transfer(_) => Err(unsupported("transfer")),
            Workload::Request(_) => Err(unsupported("request")),
        }
    }

    fn of_incast(incast: &records::Incast) -> Result<Self, String> {
        let Roles { client, server } = &incast.roles;
        if client.len() != 1 {
            return Err(format!("an incast has one client, not {}", client.len()));
        }
        if server.contains(&client[0]) {
            return Err(format!("{:?} is client and server", client[0]));
        }
        let connections = (1..=server.len()).map(|server| [0, server]).collect();
        let participants = participants(&incast.roles);
        Ok(Self { participants, connections, senders: [false, true] })
    }
}

fn unsupported(workload: &str) -> String {
    format!("the simulator does not carry out the workload {workload:?}")
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

/// The incast of a run, or what does not fit.
pub(crate) fn incast_config(
    run: &records::Run,
    incast: &records::Incast,
) -> Result<IncastConfig, String> {
    let (warmup_iterations, iterations) = counted_phases(&run.phases)?;
    let servers = incast.roles.server.len() as u32;
    if servers == 0 || incast.request_bytes == 0 || incast.block_bytes < u64::from(servers) {
        return Err("requests and blocks need at least one byte a server".to_owned());
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
        hold: false,
        request_bytes: incast.request_bytes,
        request_spacing: Duration::from_ns(incast.request_spacing_ns),
    })
}

/// How much is counted in the warm-up, if there is one, and in the measuring phase.
fn counted_phases(phases: &[records::Phase]) -> Result<(u32, u32), String> {
    let count = |phase: &records::Phase| match phase.until {
        Some(Until::Count { count }) => Ok(count),
        _ => Err(format!("the phase {:?} of an incast ends after a count", phase.kind)),
    };
    match phases {
        [warmup, measure]
            if warmup.kind == PhaseKind::WarmUp && measure.kind == PhaseKind::Measure =>
        {
            Ok((count(warmup)?, count(measure)?))
        }
        [measure] if measure.kind == PhaseKind::Measure => Ok((0, count(measure)?)),
        _ => {
            let kinds: Vec<_> = phases.iter().map(|phase| phase.kind).collect();
            Err(format!(
                "a simulated incast has the phases [WarmUp, Measure] at most, not {kinds:?}"
            ))
        }
    }
}

/// The applications of an incast: the client, then its servers.
pub(crate) fn incast(
    config: &IncastConfig,
    start_jitter: &records::Jitter,
    seed: &str,
) -> Vec<IncastHost> {
    let server = |index: u32| {
        let mut stream = Stream::new(seed, &format!("server/{}/start", index + 1));
        let jitter = start_jitter.clone();
        IncastHost::server(config, index, Box::new(move || stream.delay(&jitter)))
    };
    std::iter::once(IncastHost::client(config)).chain((0..config.servers).map(server)).collect()
}
