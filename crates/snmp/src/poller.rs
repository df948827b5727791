//! The process that polls one switch. It reads a plan and commands, one line each, and writes
//! records.
//!
//! Values are recorded as the switch reported them. Wraps, resets and the interval at which the
//! agent refreshes its counters are determined after the run, when all values are known.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use netstudy_records::{Command, SnmpPlan, SnmpPort, SnmpRecord, SnmpRecordSchema};
use nix::time::{ClockId, clock_gettime};
use snmp2::Oid;

use crate::Failure;
use crate::oids::{
    COUNTERS, ETHER_STATS_DATA_SOURCE, ETHER_STATS_ENTRY, IF_DESCR, IF_ENTRY, IF_INDEX, IF_NAME,
    IF_X_ENTRY, SYS_DESCR, SYS_NAME, SYS_UP_TIME, SYSTEM, WIDER, joined,
};
use crate::session::{Answer, Session, Unanswered, oid};

/// How often a request is sent without an answer, at the start and at the edges of phases, before
/// the switch counts as unreachable.
const ATTEMPTS: usize = 3;
/// Time limit for answers at the start, before the first poll. It may be long, because nothing is
/// timed yet.
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
const UP_TIME: &str = "sysUpTime";

/// Reads a plan from `input` and runs it, and obeys the commands that follow. The run ends by a
/// command, at the end of `input` or at the plan's time limit.
///
/// # Errors
/// The plan is not valid, or the switch does not answer at all. The last record contains the error
/// too.
pub fn poll(input: impl BufRead + Send + 'static, output: impl Write) -> Result<(), Failure> {
    let mut output = Output(output);
    let outcome = carry_out(input, &mut output);
    if let Err(failure) = &outcome {
        // The write may fail too, for example if the failure is that the reader has gone away.
        let _ = output.write(&SnmpRecord::Error { message: failure.to_string() });
    }
    outcome
}

fn carry_out(
    mut input: impl BufRead + Send + 'static,
    output: &mut Output<impl Write>,
) -> Result<(), Failure> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| Failure::Plan(error.to_string()))?;
    let plan: SnmpPlan =
        serde_json::from_str(&line).map_err(|error| Failure::Plan(error.to_string()))?;
    check(&plan)?;
    let limit_ns = now_ns() + plan.time_limit_ms * 1_000_000;
    let mut poller = Poller::begin(&plan, output)?;
    let commands = commands(input);
    poller.work(&plan, &commands, output, limit_ns)
}

fn check(plan: &SnmpPlan) -> Result<(), Failure> {
    let wrong = |why: &str| Err(Failure::Plan(why.to_owned()));
    if plan.ports.is_empty() {
        return wrong("ports: the list is empty");
    }
    if plan.timeout_ns == 0 || plan.timeout_ns >= plan.every_ns {
        return wrong(
            "timeout_ns: it must be shorter than every_ns, the interval between requests",
        );
    }
    Ok(())
}

/// Receives commands as they arrive; the channel closes at the end of the input.
fn commands(input: impl BufRead + Send + 'static) -> Receiver<Result<Command, String>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            let command = serde_json::from_str(&line).map_err(|error| error.to_string());
            if sender.send(command).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A port, with the values of all polls.
struct Polled {
    port: String,
    /// Names of the polled objects: sysUpTime, then the counters that the switch has.
    names: Vec<&'static str>,
    oids: Vec<Oid<'static>>,
    sent_ns: Vec<u64>,
    received_ns: Vec<Option<u64>>,
    why: Vec<Option<String>>,
    /// For each name: the values of all polls.
    values: Vec<Vec<Option<u64>>>,
}

struct Poller {
    session: Session,
    ports: Vec<Polled>,
    timeout: Duration,
}

impl Poller {
    /// Starts: finds the ports of the plan at the switch.
    fn begin(plan: &SnmpPlan, output: &mut Output<impl Write>) -> Result<Self, Failure> {
        let mut first = Session::new(&plan.agent, &plan.credentials, FIRST_TIMEOUT);
        let system = [SYS_DESCR, SYS_NAME].map(|number| oid(&joined(&[&SYSTEM, &[number, 0]])));
        let said = persistently(|| first.get(&system)).map_err(|why| unreachable(plan, &why))?;
        let [description, name] = &said[..] else {
            return Err(Failure::Testbed(format!("{} has no system group", plan.switch)));
        };
        let mut tables = Tables::read(plan, &mut first)?;
        let ports =
            plan.ports.iter().map(|port| tables.port(plan, port)).collect::<Result<_, _>>()?;
        let timeout = Duration::from_nanos(plan.timeout_ns);
        output.write(&SnmpRecord::Ready {
            schema: SnmpRecordSchema::V1,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run: plan.run.clone(),
            pid: std::process::id(),
            description: text(description),
            name: text(name),
        })?;
        Ok(Self { session: Session::new(&plan.agent, &plan.credentials, timeout), ports, timeout })
    }

    fn work(
        &mut self,
        plan: &SnmpPlan,
        commands: &Receiver<Result<Command, String>>,
        output: &mut Output<impl Write>,
        limit_ns: u64,
    ) -> Result<(), Failure> {
        let mut due_ns = Some(now_ns());
        loop {
            let until_ns = due_ns.unwrap_or(limit_ns).min(limit_ns);
            let wait = Duration::from_nanos(until_ns.saturating_sub(now_ns()));
            match commands.recv_timeout(wait) {
                Ok(Ok(Command::Snapshot { name })) => {
                    let answered = (0..ATTEMPTS).any(|_| self.read_all());
                    output.write(&SnmpRecord::Snapshot { name, at_ns: now_ns(), answered })?;
                    // A snapshot is taken at the edge of a phase, so polling at intervals stops
                    // until `go`.
                    due_ns = None;
                }
                Ok(Ok(Command::Go)) => due_ns = Some(now_ns()),
                Ok(Ok(Command::Stop)) => return self.finish(output),
                Ok(Err(why)) => {
                    return Err(Failure::Testbed(format!("a command cannot be read: {why}")));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) if now_ns() >= limit_ns => {
                    let over = format!("the time limit of {} ms is over", plan.time_limit_ms);
                    return Err(Failure::Testbed(over));
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.read_all();
                    due_ns = due_ns.map(|due_ns| next_due(due_ns, plan.every_ns, now_ns()));
                }
            }
        }
    }

    /// Polls every port once. Returns whether all of them were read.
    fn read_all(&mut self) -> bool {
        let mut all = true;
        for port in &mut self.ports {
            all &= port.read(&mut self.session, self.timeout);
        }
        all
    }

    fn finish(&mut self, output: &mut Output<impl Write>) -> Result<(), Failure> {
        for port in self.ports.drain(..) {
            output.write(&port.record())?;
        }
        output.write(&SnmpRecord::End {})
    }
}

impl Polled {
    fn new(port: &str, names: Vec<&'static str>, oids: Vec<Oid<'static>>) -> Self {
        let values = vec![Vec::new(); names.len()];
        Self {
            port: port.to_owned(),
            names,
            oids,
            sent_ns: Vec::new(),
            received_ns: Vec::new(),
            why: Vec::new(),
            values,
        }
    }

    fn read(&mut self, session: &mut Session, timeout: Duration) -> bool {
        self.sent_ns.push(now_ns());
        let answered = session.get(&self.oids);
        self.received_ns.push(answered.is_ok().then(now_ns));
        self.why.push(answered.as_ref().err().map(|why| why.text(timeout)));
        let answers = answered.unwrap_or_default();
        let is_read = !answers.is_empty();
        for (place, column) in self.values.iter_mut().enumerate() {
            column.push(match answers.get(place) {
                Some(Answer::Number(number)) => Some(*number),
                _ => None,
            });
        }
        is_read
    }

    fn record(self) -> SnmpRecord {
        let named = self.names.into_iter().map(str::to_owned);
        SnmpRecord::Samples {
            port: self.port,
            sent_ns: self.sent_ns,
            received_ns: self.received_ns,
            why: self.why,
            values: named.zip(self.values).collect(),
        }
    }
}

impl Unanswered {
    fn text(&self, timeout: Duration) -> String {
        match self {
            Self::Silent => format!("no answer for {} ms", timeout.as_millis()),
            Self::Wrong(why) => why.clone(),
        }
    }
}

/// Tables of the switch, which tell the row of each port.
struct Tables<'a> {
    session: &'a mut Session,
    /// ifIndex by ifName, or by ifDescr if the switch has no ifName.
    interfaces: BTreeMap<String, u32>,
    /// etherStatsIndex by ifIndex.
    ether_stats: BTreeMap<u32, u32>,
}

impl<'a> Tables<'a> {
    fn read(plan: &SnmpPlan, session: &'a mut Session) -> Result<Self, Failure> {
        let failed = |why: &Unanswered| unreachable(plan, why);
        let mut walk = |entry: &[u32], number| {
            let column = joined(&[entry, &[number]]);
            persistently(|| session.walk(&column)).map_err(|why| failed(&why))
        };
        let mut interfaces = BTreeMap::new();
        for (entry, number) in [(&IF_ENTRY[..], IF_DESCR), (&IF_X_ENTRY[..], IF_NAME)] {
            for (instance, value) in walk(entry, number)? {
                if let (&[index], Answer::Text(name)) = (&instance[..], value) {
                    interfaces.insert(name, index as u32);
                }
            }
        }
        let source: Vec<u64> =
            joined(&[&IF_ENTRY, &[IF_INDEX]]).into_iter().map(u64::from).collect();
        let mut ether_stats = BTreeMap::new();
        for (instance, value) in walk(&ETHER_STATS_ENTRY, ETHER_STATS_DATA_SOURCE)? {
            if let (&[row], Answer::Name(name)) = (&instance[..], value)
                && let Some(&[index]) = name.strip_prefix(&source[..])
            {
                ether_stats.insert(index as u32, row as u32);
            }
        }
        Ok(Self { session, interfaces, ether_stats })
    }

    /// Finds a port, and the counters that the switch has for it.
    fn port(&mut self, plan: &SnmpPlan, port: &SnmpPort) -> Result<Polled, Failure> {
        let Some(&index) = self.interfaces.get(&port.name) else {
            let known: Vec<&str> = self.interfaces.keys().map(String::as_str).collect();
            return Err(Failure::Testbed(format!(
                "{} has no port {:?}; it has {}",
                plan.switch,
                port.name,
                known.join(", ")
            )));
        };
        let up_time = (UP_TIME, oid(&joined(&[&SYSTEM, &[SYS_UP_TIME, 0]])));
        let mut found = vec![up_time];
        for (name, entry, number) in COUNTERS {
            // Rows of etherStatsTable are numbered independently of ifIndex, and there may be no
            // row for a port (RFC 2819).
            let row = if entry == ETHER_STATS_ENTRY {
                let Some(&row) = self.ether_stats.get(&index) else { continue };
                row
            } else {
                index
            };
            // Skip a 32-bit counter if its 64-bit counter, which comes earlier in COUNTERS, was
            // found. RFC 2863, 3.1.6 says at which rates 64-bit counters are needed.
            let narrow = WIDER.iter().find(|(narrow, _)| *narrow == name);
            if narrow.is_some_and(|(_, wide)| found.iter().any(|(name, _)| name == wide)) {
                continue;
            }
            let object = oid(&joined(&[entry, &[number, row]]));
            let answers = persistently(|| self.session.get(std::slice::from_ref(&object)))
                .map_err(|why| unreachable(plan, &why))?;
            if matches!(answers[..], [Answer::Number(_)]) {
                found.push((name, object));
            }
        }
        let has = |wanted: &str| found.iter().any(|(name, _)| *name == wanted);
        if !has("ifHCInOctets") && !has("ifInOctets") {
            return Err(Failure::Testbed(format!(
                "{} shows no octets of the port {:?}: its agent may let this community or user read \
                 another part alone",
                plan.switch, port.name
            )));
        }
        let (names, oids) = found.into_iter().unzip();
        Ok(Polled::new(&port.port, names, oids))
    }
}

/// Repeats a request up to [`ATTEMPTS`] times, until there is an answer.
fn persistently<T>(mut ask: impl FnMut() -> Result<T, Unanswered>) -> Result<T, Unanswered> {
    let mut answered = ask();
    for _ in 1..ATTEMPTS {
        if answered.as_ref().err() != Some(&Unanswered::Silent) {
            break;
        }
        answered = ask();
    }
    answered
}

/// Describes why the switch cannot be read. The two causes "wrong community" and "no agent" cannot
/// be told apart, because there is no answer in both cases (RFC 3584, 5.2.1).
fn unreachable(plan: &SnmpPlan, why: &Unanswered) -> Failure {
    let SnmpPlan { switch, agent, credentials, .. } = plan;
    let known = matches!(credentials, netstudy_records::SnmpCredentials::Community { .. });
    let who = if known { "the community" } else { "the user or a password" };
    Failure::Testbed(match why {
        Unanswered::Silent => format!(
            "{switch} at {agent} does not answer SNMP: {who} is wrong, or there is no agent"
        ),
        Unanswered::Wrong(why) => {
            format!("{switch} at {agent} refuses to be read by SNMP ({why}): is {who} right?")
        }
    })
}

fn text(answer: &Answer) -> String {
    match answer {
        Answer::Text(text) => text.clone(),
        _ => String::new(),
    }
}

/// The first multiple of `every_ns` after `due_ns` that is later than now.
fn next_due(due_ns: u64, every_ns: u64, now_ns: u64) -> u64 {
    let missed = now_ns.saturating_sub(due_ns) / every_ns;
    due_ns + (missed + 1) * every_ns
}

/// `CLOCK_MONOTONIC`, which all processes of a machine share.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has this clock");
    Duration::from(now).as_nanos() as u64
}

struct Output<W>(W);

impl<W: Write> Output<W> {
    fn write(&mut self, record: &SnmpRecord) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(record).expect("a record is JSON");
        line.push(b'\n');
        let written = self.0.write_all(&line).and_then(|()| self.0.flush());
        written.map_err(|error| Failure::Testbed(format!("writing records: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_that_took_longer_than_the_interval_skips_those_it_missed() {
        assert_eq!(next_due(1_000, 100, 1_001), 1_100);
        assert_eq!(next_due(1_000, 100, 1_350), 1_400);
        assert_eq!(next_due(1_000, 100, 1_400), 1_500);
    }
}
