//! Queue disciplines of a plan's ports: which there are, and which cannot be.

use netstudy_fabric::queue::check_at_switch;
use netstudy_fabric::topology::CableEnd;
use netstudy_records as records;

/// The end of a link in the plan.
fn end_of(network: &records::Network, at: CableEnd) -> &records::Port {
    let link = &network.links[at.cable];
    if at.end == 0 { &link.a } else { &link.b }
}

/// For each port of a switch, by number: its discipline. An error names a port that cannot have its
/// discipline, and why.
pub(super) fn of_switch(
    network: &records::Network,
    switch: &records::Switch,
    ports: &[CableEnd],
) -> Result<Vec<Option<records::Queue>>, String> {
    let queue = |&at: &CableEnd| {
        let port = end_of(network, at);
        of_port(port, switch.honours_pause, |queue| {
            check_at_switch(queue, &switch.buffer, switch.ecn_threshold_bytes.is_some())
        })
    };
    ports.iter().map(queue).collect()
}

/// The discipline of an interface.
pub(super) fn of_interface(
    port: &records::Port,
    honours_pause: bool,
) -> Result<Option<records::Queue>, String> {
    of_port(port, honours_pause, records::Queue::check)
}

fn of_port(
    port: &records::Port,
    honours_pause: bool,
    check: impl Fn(&records::Queue) -> Result<(), String>,
) -> Result<Option<records::Queue>, String> {
    let Some(queue) = &port.queue else { return Ok(None) };
    let checked = check(queue).and_then(|()| {
        if honours_pause { Err("its port honours PAUSE: give only one".to_owned()) } else { Ok(()) }
    });
    checked.map_err(|why| format!("the queue of {:?} at {:?}: {why}", port.name, port.node))?;
    Ok(Some(queue.clone()))
}
