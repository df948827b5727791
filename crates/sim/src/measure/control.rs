//! Leads a run through its phases. A mark is an event that the measurement must handle; it is
//! handled when the clock reaches its time.

use std::ops::ControlFlow;

use netstudy_records::PhaseKind;
use netstudy_units::{Duration, Time};
use netstudy_workload::{Action, Sample, Traffic};

use super::counted::Counted;
use super::outcome::{Edge, Outcome, RequestsOf};
use super::readings::Reading;
use super::{
    CONTROL_TIME, COOL_DOWN_END, MEASURE_END, MEASURE_START, Mark, NO_HOST, SECOND, Stage,
    WARM_UP_END, WARM_UP_START,
};
use crate::end_index::EndIndex;
use crate::host::Hosts;
use crate::snapshot::Snapshot;

/// Called during a run, with the number of samples that ended since the last call (which may be 0).
/// Returns whether to go on.
pub(crate) type OnSamples<'a> = dyn FnMut(u64) -> ControlFlow<()> + 'a;

/// After this time, a run may not record any more samples. Virtual time can represent 213 days; the
/// rest is left for a last phase and for the time after which a run without progress is stopped.
const LAST_SAMPLE: Time = Time::from_ps(180 * 24 * 3_600 * 1_000_000_000_000);

impl<T: Traffic, N> Hosts<'_, T, N> {
    /// Handles the first mark. The clock must have reached its time. Returns the outcome if the run
    /// has ended.
    #[inline(never)]
    pub(crate) fn read(
        mut self,
        network: &impl Counted<T, Line = N>,
        on_samples: &mut OnSamples<'_>,
    ) -> Result<Option<Outcome>, String> {
        let Some((at, host, mark)) = self.measure().next() else { return Ok(None) };
        match mark {
            Mark::Noted(action) => return self.take_note(at, host, action, network, on_samples),
            Mark::Go => {
                // The counters are read before the clients go on, so that they include no traffic
                // of the next phase.
                if self.measure().stage == Stage::Idle {
                    self.read_edge(WARM_UP_START, at, network);
                    self.measure().end_phase(PhaseKind::Idle, at);
                    self.measure().stage = Stage::WarmUp;
                } else {
                    self.begin(at, network);
                }
                self.go(at);
            }
            Mark::Stop(time) => {
                self.read_edge(WARM_UP_END, at, network);
                self.measure().mark(at + time, NO_HOST, Mark::Go);
            }
            Mark::Second => {
                self.measure().check_progress(at)?;
                go_on(on_samples, 0)?;
                self.sample_second(at);
            }
            Mark::Sampler(number) => {
                self.measure().check_progress(at)?;
                go_on(on_samples, 0)?;
                self.read_instrument(number, at, network);
            }
            Mark::CoolDownEnd => {
                self.measure().end_phase(PhaseKind::CoolDown, at);
                if self.measure().config.phases.cooldown > Some(Duration::ZERO) {
                    self.read_edge(COOL_DOWN_END, at, network);
                }
                return self.outcome(network).map(Some);
            }
        }
        Ok(None)
    }

    /// Handles an action that a host's application reported to the measurement. Returns the outcome
    /// if the run has ended.
    fn take_note(
        &mut self,
        at: Time,
        host: usize,
        action: Action,
        network: &impl Counted<T, Line = N>,
        on_samples: &mut OnSamples<'_>,
    ) -> Result<Option<Outcome>, String> {
        if let Action::Sample(sample) = action
            && let Some(end) = self.probe_end(host, sample)
        {
            // Samples of a probe are not a sign of progress, because a probe goes on even if the
            // workload hangs.
            self.sample_probe(end, sample);
            return Ok(None);
        }
        self.measure().last = at;
        match action {
            Action::Sample(sample) => {
                if at > LAST_SAMPLE {
                    return Err(format!(
                        "the run has not ended after {LAST_SAMPLE} of virtual time"
                    ));
                }
                let is_log_in = matches!(sample, Sample::LogIn { .. });
                go_on(on_samples, u64::from(!is_log_in))?;
                self.sample(at, host, sample);
            }
            Action::Ready => self.ready(at),
            Action::Begin => self.begin(at, network),
            Action::Over => {
                self.measure().over += 1;
                if self.measure().over == self.measure().config.clients {
                    self.end_measuring(at, network)?;
                }
            }
            Action::End => {
                self.measure().ended += 1;
                if self.measure().ended == self.measure().config.clients {
                    return self.end_workload(at, network);
                }
            }
            Action::Hold => self.measure().hold(at),
            Action::Open { .. }
            | Action::Write { .. }
            | Action::Stream { .. }
            | Action::Finish { .. }
            | Action::Read { .. }
            | Action::Close { .. } => {}
        }
        Ok(None)
    }

    /// A client has reached its full load. The time of the warm-up begins when all clients have
    /// reached it.
    fn ready(&mut self, at: Time) {
        self.measure().ready += 1;
        let measure = self.measure();
        let Some(time) = measure.config.phases.continuous_warmup() else { return };
        if measure.ready == measure.config.clients {
            let start = at + time;
            let times = measure.times_of_measure(start);
            self.plan_readings(std::iter::once(start).chain(times));
            self.go(start);
        }
    }

    /// Plans readings of all hosts at these times, which must be later than all planned times.
    fn plan_readings(&mut self, times: impl IntoIterator<Item = Time>) {
        let (hosts, ends) = (self.len(), self.ends().count());
        self.measure().readings.plan(times, hosts, ends);
        for host in 0..hosts {
            let next = self.measure().readings.next(host);
            self.lower_host_timer(host, next);
        }
    }

    /// Takes a sample of an instrument. Sampling ends with the cool-down, or with the measuring
    /// phase if the plan has no cool-down.
    fn read_instrument(&mut self, number: usize, at: Time, network: &impl Counted<T, Line = N>) {
        let measure = self.measure();
        if measure.stage == Stage::Over && measure.config.phases.cooldown.is_none() {
            return;
        }
        let mut samplers = std::mem::take(&mut self.measure().config.samplers);
        let sampler = &mut samplers[number];
        self.read_sampler(sampler, at, network);
        self.measure().mark(at + sampler.every(), NO_HOST, Mark::Sampler(number));
        self.measure().config.samplers = samplers;
    }

    fn read_edge(&mut self, name: &'static str, at: Time, network: &impl Counted<T, Line = N>) {
        let counted = Snapshot::new(self, network, at);
        self.measure().edges.push(Edge { name, at, counted });
    }

    /// Begins the measuring phase. This happens before waiting clients go on or, if clients do not
    /// wait, at the first measured action of a client.
    fn begin(&mut self, at: Time, network: &impl Counted<T, Line = N>) {
        if self.measure().stage == Stage::Measure {
            return;
        }
        self.measure().take_totals(at);
        self.measure().end_warmup(at);
        self.read_edge(MEASURE_START, at, network);
        self.measure().stage = Stage::Measure;
        if self.measure().config.phases.continuous_warmup().is_none() {
            let times = self.measure().times_of_measure(at);
            self.plan_readings(times);
        }
        if self.measure().config.each_second {
            self.measure().second = (at, self.bytes_received(at));
            self.measure().mark(at + SECOND, NO_HOST, Mark::Second);
        }
    }

    /// If the probe took this sample: the connection end at which it did. None if the workload took
    /// it.
    fn probe_end(&mut self, host: usize, sample: Sample) -> Option<EndIndex> {
        let Sample::Request { connection, .. } = sample else { return None };
        let end = self.end_of(host, connection);
        (end.connection() >= self.measure().config.connections).then_some(end)
    }

    fn sample_probe(&mut self, end: EndIndex, sample: Sample) {
        match self.measure().stage {
            Stage::Idle => self.sample_request(RequestsOf::Probe(PhaseKind::Idle), end, sample),
            Stage::Measure | Stage::Over => {
                self.sample_request(RequestsOf::Probe(PhaseKind::Measure), end, sample);
            }
            Stage::WarmUp | Stage::Stopped(_) => {}
        }
    }

    /// Records an answered request. A request counts for the phase in which it was due.
    fn sample_request(&mut self, of: RequestsOf, end: EndIndex, sample: Sample) {
        let Sample::Request { intended, ended, .. } = sample else { return };
        let measure = self.measure();
        if measure.stage != Stage::Idle && intended < measure.start_of_measure() {
            return;
        }
        let is_over = measure.stage == Stage::Over;
        if is_over && intended >= measure.time_of(MEASURE_END) {
            return;
        }
        let hosts = [self.host_of(end) as u32, self.host_of(end.peer()) as u32];
        let requests = &mut self.measure().sampled.requests;
        let answers = requests.entry((of, hosts)).or_default();
        if is_over {
            answers.unanswered += 1;
        } else {
            answers.latencies.record(ended.since(intended).as_ns());
        }
    }

    fn sample(&mut self, at: Time, host: usize, sample: Sample) {
        let is_measured = self.measure().stage == Stage::Measure;
        match sample {
            Sample::Iteration { started, ended } => {
                self.measure().sample_iteration(at, started, ended);
            }
            Sample::LogIn { connection, connect, login } => {
                let connection = self.end_of(host, connection).connection() as u32;
                self.measure().sampled.log_ins.insert(connection, [connect, login]);
            }
            // A transfer counts for the phase in which it ends, an answer for the phase in which it
            // was due.
            Sample::Transfer {
                connection,
                bytes_received,
                bytes_sent,
                started,
                first_byte,
                ended,
            } if is_measured => {
                let connection = self.end_of(host, connection).connection() as u32;
                let transfers = &mut self.measure().sampled.transfers;
                transfers.connection.push(connection);
                transfers.start_ns.push(started.as_ns());
                transfers.end_ns.push(ended.as_ns());
                transfers.bytes_received.push(bytes_received);
                transfers.bytes_sent.push(bytes_sent);
                let first_byte_ns = first_byte.map(Time::as_ns);
                self.measure().sampled.first_bytes_ns.extend(first_byte_ns);
            }
            Sample::Request { connection, .. }
                if is_measured || self.measure().stage == Stage::Over =>
            {
                let end = self.end_of(host, connection);
                self.sample_request(RequestsOf::Workload, end, sample);
            }
            Sample::Transfer { .. } | Sample::Request { .. } => {}
        }
    }

    /// Bytes received at both ends of each connection of the workload at `at`, which the clock must
    /// have reached.
    fn bytes_received(&mut self, at: Time) -> Vec<[u64; 2]> {
        let connections = self.measure().config.connections;
        let (read, _) = self.read_ends(at);
        let received =
            |ends: &[Reading]| [ends[0].counters.bytes_received, ends[1].counters.bytes_received];
        read.chunks_exact(2).take(connections).map(received).collect()
    }

    /// Records the bytes received in the second that has just ended, or in the partial second at
    /// the end of the phase.
    fn sample_second(&mut self, at: Time) {
        if self.measure().stage != Stage::Measure {
            return;
        }
        let received = self.bytes_received(at);
        let measure = self.measure();
        let (began, before) = std::mem::replace(&mut measure.second, (at, received));
        let start_ns = began.since(measure.start_of_measure()).as_ns();
        let seconds = &mut measure.sampled.seconds;
        for (number, (now, before)) in measure.second.1.iter().zip(before).enumerate() {
            seconds.connection.push(number as u32);
            seconds.start_ns.push(start_ns);
            seconds.bytes_received.push(now[0] - before[0]);
            seconds.bytes_sent.push(now[1] - before[1]);
        }
        measure.mark(at + SECOND, NO_HOST, Mark::Second);
    }

    /// Ends the measuring phase.
    fn end_measuring(
        &mut self,
        at: Time,
        network: &impl Counted<T, Line = N>,
    ) -> Result<(), String> {
        if self.measure().stage != Stage::Measure {
            return Err("the measuring phase ended before it began".to_owned());
        }
        let measure = self.measure();
        let is_timed = measure.config.phases.measured_time().is_some();
        if measure.config.each_second && is_timed && measure.second.0 < at {
            self.sample_second(at);
        }
        self.measure().take_totals(at);
        self.read_edge(MEASURE_END, at, network);
        let measure = self.measure();
        measure.end_phase(PhaseKind::Measure, at);
        let start = measure.start_of_measure();
        if let Some(phase) = measure.phases.last_mut() {
            // Without a warm-up, the time before this phase was spent on opening connections.
            phase.start = start;
        }
        measure.stage = Stage::Over;
        Ok(())
    }

    /// Handles the end of the workload. Returns the outcome if the run has ended.
    fn end_workload(
        &mut self,
        at: Time,
        network: &impl Counted<T, Line = N>,
    ) -> Result<Option<Outcome>, String> {
        if self.measure().stage != Stage::Over {
            self.end_measuring(at, network)?;
        }
        let measure = self.measure();
        let Some(time) = measure.config.phases.cooldown else {
            return self.outcome(network).map(Some);
        };
        let time = if time > Duration::ZERO { time } else { CONTROL_TIME };
        measure.mark(at + time, NO_HOST, Mark::CoolDownEnd);
        Ok(None)
    }

    fn outcome(&mut self, network: &impl Counted<T, Line = N>) -> Result<Outcome, String> {
        let frames = network.frames(self);
        let switches = network.switches(self);
        let connections = self.measure().config.connections;
        let owed_bytes = self.owed_bytes(connections);
        let measure = self.measure();
        let place = |name| measure.edges.iter().position(|edge| edge.name == name);
        let (Some(from), Some(to)) = (place(MEASURE_START), place(MEASURE_END)) else {
            return Err("counters were not read at both ends of the measuring phase".to_owned());
        };
        Ok(Outcome {
            samples: std::mem::take(&mut measure.sampled),
            phases: std::mem::take(&mut measure.phases),
            edges: std::mem::take(&mut measure.edges),
            measured: [from, to],
            begins_loaded: measure.config.phases.continuous_warmup().is_some(),
            is_timed: measure.config.phases.measured_time().is_some(),
            samplers: std::mem::take(&mut measure.config.samplers),
            frames,
            switches,
            owed_bytes,
        })
    }
}

/// Reports samples, and returns an error if the run must stop.
fn go_on(on_samples: &mut OnSamples<'_>, samples: u64) -> Result<(), String> {
    if on_samples(samples).is_break() {
        return Err("the run was stopped before its end".to_owned());
    }
    Ok(())
}
