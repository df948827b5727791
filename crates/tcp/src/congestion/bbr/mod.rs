//! BBR, version 1, as in Linux 6 (`net/ipv4/tcp_bbr.c`; Cardwell, Cheng, Gunn, Yeganeh, Jacobson:
//! "BBR: congestion-based congestion control", ACM Queue 14(5), 2016).
//!
//! The control estimates the bandwidth and the minimum round-trip time of the path. It paces at the
//! bandwidth times a gain, and limits the flight to their product times another gain. Losses change
//! the window only in the repair of the loss. The names in brackets are names of the kernel, whose
//! integer arithmetic in microseconds is used here.
//!
//! Differences from Linux: times of ten seconds and of 200 ms are exact here and ticks of the clock
//! there; the phase in which a cycle of gains begins is a hash of a seed and the time.

mod aggregation;
mod long_term;
mod windowed_max;

use netstudy_units::{Duration, Time};

use super::control::{Account, Acked, CongestionControl, PACING_SHIFT, RateSample, Repair, Window};
use aggregation::Aggregation;
use long_term::{LongTerm, Outcome};
use windowed_max::WindowedMax;

/// Bandwidths are segments per microsecond times this (`BW_UNIT`).
const BW_UNIT: u64 = 1 << 24;
/// Gains are multiples of 1/256 (`BBR_UNIT`).
const UNIT: u16 = 256;
/// Rounds of the window in which the bandwidth is a maximum (`bbr_bw_rtts`).
const BW_ROUNDS: u32 = CYCLE.len() as u32 + 2;
/// The window in which the round-trip time is a minimum (`bbr_min_rtt_win_sec`).
const MIN_RTT_WINDOW_US: u64 = 10_000_000;
/// Minimum time with few segments in flight (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT_US: u64 = 200_000;
/// Per mille of the estimated bandwidth that pacing leaves unused (`bbr_pacing_margin_percent`), as
/// the factor of a rate in segments per microsecond that gives bytes per second.
const MARGIN_PER_S: u128 = 990_000;
/// 2 / ln 2: the smallest gain with which the rate doubles in each round trip (`bbr_high_gain`).
const HIGH_GAIN: u16 = (UNIT as u32 * 2885 / 1000 + 1) as u16;
/// Its inverse drains in a round trip the queue that Startup has made (`bbr_drain_gain`).
const DRAIN_GAIN: u16 = (UNIT as u32 * 1000 / 2885) as u16;
/// Gain of the window while the bandwidth is probed: room for delayed acknowledgments
/// (`bbr_cwnd_gain`).
const CWND_GAIN: u16 = 2 * UNIT;
/// Gains of a cycle, each for about a minimum round-trip time (`bbr_pacing_gain`).
const CYCLE: [u16; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// A cycle begins in any phase but the one with the low gain (`bbr_cycle_rand`).
const START_PHASES: u64 = 7;
/// Segments in flight that suffice to get acknowledgments of every second segment
/// (`bbr_cwnd_min_target`).
const CWND_MIN: u32 = 4;
/// The pipe is full if the bandwidth grows by less than this gain (`bbr_full_bw_thresh`) ...
const FULL_BW_GAIN: u16 = UNIT * 5 / 4;
/// ... in this number of rounds (`bbr_full_bw_cnt`).
const FULL_BW_ROUNDS: u8 = 3;
/// Initial window of Linux (`TCP_INIT_CWND`).
const INIT_CWND: u32 = 10;
/// Round-trip time that is assumed before the first sample (`USEC_PER_MSEC`).
const NOMINAL_RTT_US: u64 = 1_000;
/// Bursts have at least two segments from this rate on, in bytes per second (`bbr_min_tso_rate`).
const TWO_SEGMENTS_BYTES_PER_S: u64 = 1_200_000 / 8;
/// Maximum bytes of a burst in the budget of bursts (`bbr_tso_segs_goal`: `GSO_LEGACY_MAX_SIZE - 1 -
/// MAX_TCP_HEADER`).
const BURST_BYTES_MAX: u64 = 65_536 - 1 - 320;

/// The mode of a BBR control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Doubles the rate in each round trip until the bandwidth grows no more.
    #[default]
    Startup,
    /// Drains the queue that Startup has made.
    Drain,
    /// Cycles gains of pacing, to find more bandwidth and to share it.
    ProbeBw,
    /// Keeps few segments in flight, to measure the minimum round-trip time.
    ProbeRtt,
}

/// The model of the path that a BBR control has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// The estimated bandwidth in bytes of payload per second; 0 before the first sample.
    pub bandwidth_bytes_per_s: u64,
    /// The minimum round-trip time, or none before the first sample.
    pub min_rtt: Option<Duration>,
    /// The mode of the control.
    pub mode: Mode,
}

/// BBR, version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the kernel")]
pub struct Bbr {
    /// The pacing rate in bytes of payload per second (`sk_pacing_rate`).
    pacing_rate: u64,
    /// When [`Self::min_rtt_us`] was measured, or the round-trip time was last probed.
    min_rtt_at_us: u64,
    /// When the probe of the round-trip time has lasted long enough; 0: its flight is not small yet.
    probe_rtt_until_us: u64,
    /// The round ends when a segment arrives that was sent after this number of segments had
    /// (`next_rtt_delivered`).
    round_end: u64,
    /// When the phase of the cycle began.
    cycle_at_us: u64,
    aggregation: Aggregation,
    bw: WindowedMax,
    long_term: LongTerm,
    /// Decides with the time in which phase a cycle begins.
    seed: u32,
    /// `u32::MAX` before the first sample.
    min_rtt_us: u32,
    rounds: u32,
    /// The window before a loss or a probe of the round-trip time.
    prior_cwnd: u32,
    full_bw: u32,
    pacing_gain: u16,
    cwnd_gain: u16,
    mode: Mode,
    prior_repair: Repair,
    full_bw_rounds: u8,
    phase: u8,
    full_bw_reached: bool,
    begins_round: bool,
    conserves_packets: bool,
    probe_rtt_round_done: bool,
    restarts: bool,
    has_seen_rtt: bool,
}

impl Bbr {
    /// Creates BBR. Flows with different seeds begin their cycles of gains in different phases.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        Self {
            pacing_rate: 0,
            min_rtt_at_us: 0,
            probe_rtt_until_us: 0,
            round_end: 0,
            cycle_at_us: 0,
            aggregation: Aggregation::default(),
            bw: WindowedMax::default(),
            long_term: LongTerm::default(),
            seed,
            min_rtt_us: u32::MAX,
            rounds: 0,
            prior_cwnd: 0,
            full_bw: 0,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            mode: Mode::Startup,
            prior_repair: Repair::None,
            full_bw_rounds: 0,
            phase: 0,
            full_bw_reached: false,
            begins_round: false,
            conserves_packets: false,
            probe_rtt_round_done: false,
            restarts: false,
            has_seen_rtt: false,
        }
    }

    /// The model of the path, for segments with `mss_bytes` of payload.
    #[must_use]
    pub fn model(&self, mss_bytes: u32) -> Model {
        let bytes = u128::from(self.bandwidth()) * u128::from(mss_bytes) * 1_000_000;
        let has_rtt = self.min_rtt_us != u32::MAX;
        Model {
            bandwidth_bytes_per_s: (bytes / u128::from(BW_UNIT)) as u64,
            min_rtt: has_rtt.then(|| Duration::from_us(self.min_rtt_us.into())),
            mode: self.mode,
        }
    }

    /// The bandwidth in use (`bbr_bw`).
    fn bandwidth(&self) -> u32 {
        self.long_term.bw().unwrap_or_else(|| self.bw.get())
    }

    // ---- pacing and window

    /// `bbr_init_pacing_rate_from_rtt`
    fn guess_pacing_rate(&mut self, account: &Account, cwnd: u32) {
        let rtt_us = match account.srtt {
            Some(srtt) => {
                self.has_seen_rtt = true;
                microseconds(srtt).max(1)
            }
            None => NOMINAL_RTT_US,
        };
        let bw = saturate(u64::from(cwnd) * BW_UNIT / rtt_us);
        self.pacing_rate = bytes_per_s(bw, HIGH_GAIN, account.mss_bytes);
    }

    /// `bbr_set_pacing_rate`
    fn pace(&mut self, account: &Account, gain: u16, cwnd: u32) {
        let rate = bytes_per_s(self.bandwidth(), gain, account.mss_bytes);
        if !self.has_seen_rtt && account.srtt.is_some() {
            self.guess_pacing_rate(account, cwnd);
        }
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// The product of bandwidth and delay times a gain, in segments (`bbr_bdp`).
    fn product(&self, bw: u32, gain: u16) -> u32 {
        if self.min_rtt_us == u32::MAX {
            return INIT_CWND;
        }
        let segments = u128::from(bw) * u128::from(self.min_rtt_us) * u128::from(gain);
        let product = (segments / u128::from(UNIT)).div_ceil(u128::from(BW_UNIT));
        u32::try_from(product).unwrap_or(u32::MAX / 2)
    }

    /// Segments that a burst should have (`bbr_tso_segs_goal`).
    fn burst_segments(&self, mss_bytes: u32) -> u32 {
        let bytes = (self.pacing_rate >> PACING_SHIFT).min(BURST_BYTES_MAX);
        (bytes / u64::from(mss_bytes)).max(self.least_burst()).min(0x7F) as u32
    }

    /// `bbr_min_tso_segs`
    const fn least_burst(&self) -> u64 {
        if self.pacing_rate < TWO_SEGMENTS_BYTES_PER_S { 1 } else { 2 }
    }

    /// Adds room for bursts in the sender, on the way and in the receiver
    /// (`bbr_quantization_budget`).
    fn with_bursts(&self, segments: u32, mss_bytes: u32) -> u32 {
        let even = (segments + 3 * self.burst_segments(mss_bytes)).next_multiple_of(2);
        // A gain above 1 must have an effect even if the product is small.
        even + if self.mode == Mode::ProbeBw && self.phase == 0 { 2 } else { 0 }
    }

    /// Segments in flight that fill the path `gain` times (`bbr_inflight`).
    fn inflight(&self, gain: u16, mss_bytes: u32) -> u32 {
        self.with_bursts(self.product(self.bw.get(), gain), mss_bytes)
    }

    /// `bbr_set_cwnd`
    fn set_window(&mut self, sample: &RateSample, window: &mut Window) {
        if sample.acked > 0 {
            window.cwnd = self.next_window(sample, window.cwnd);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(CWND_MIN);
        }
    }

    fn next_window(&mut self, sample: &RateSample, cwnd: u32) -> u32 {
        let cwnd = self.repair_window(sample, cwnd);
        if self.conserves_packets {
            return cwnd.max(sample.in_flight + sample.acked);
        }
        let bw = self.bandwidth();
        let extra = if self.full_bw_reached { self.aggregation.allowance(bw) } else { 0 };
        let product = self.product(bw, self.cwnd_gain) + extra;
        let target = self.with_bursts(product, sample.account.mss_bytes);
        let next = if self.full_bw_reached {
            (cwnd + sample.acked).min(target)
        } else if cwnd < target || sample.account.delivered < u64::from(INIT_CWND) {
            cwnd + sample.acked
        } else {
            cwnd
        };
        next.max(CWND_MIN)
    }

    /// The window at the beginning and at the end of the repair of a loss: one round of packet
    /// conservation, and the window of before (`bbr_set_cwnd_to_recover_or_restore`).
    fn repair_window(&mut self, sample: &RateSample, cwnd: u32) -> u32 {
        let mut cwnd = cwnd.saturating_sub(sample.losses).max(1);
        let (before, repair) = (self.prior_repair, sample.repair);
        if repair == Repair::Recovery && before != Repair::Recovery {
            self.conserves_packets = true;
            self.round_end = sample.account.delivered;
            cwnd = sample.in_flight + sample.acked;
        } else if before >= Repair::Recovery && repair < Repair::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves_packets = false;
        }
        self.prior_repair = repair;
        cwnd
    }

    /// `bbr_save_cwnd`
    fn save_window(&mut self, cwnd: u32) {
        let is_good = self.prior_repair < Repair::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if is_good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    // ---- the model

    /// `bbr_update_model`. Returns true while the round-trip time is probed.
    fn update_model(&mut self, sample: &RateSample, window: &mut Window) -> bool {
        self.update_bandwidth(sample);
        if sample.rate.is_some() {
            let bw = self.bandwidth();
            self.aggregation.update(sample, self.begins_round, bw, window.cwnd);
        }
        if self.mode == Mode::ProbeBw && self.is_next_phase(sample) {
            self.advance_phase(&sample.account);
        }
        self.check_full_bandwidth(sample);
        self.check_drain(sample, window);
        let probes = self.update_min_rtt(sample, window);
        self.update_gains();
        probes
    }

    /// `bbr_update_bw`
    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.begins_round = false;
        let Some(rate) = sample.rate else { return };
        if rate.prior_delivered >= self.round_end {
            self.round_end = sample.account.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.begins_round = true;
            self.conserves_packets = false;
        }
        self.sample_long_term(&sample.account, sample.losses, rate.is_app_limited);
        let bw = saturate(rate.segments * BW_UNIT / rate.interval_us);
        if !rate.is_app_limited || bw >= self.bw.get() {
            self.bw.add(BW_ROUNDS, self.rounds, bw);
        }
    }

    fn sample_long_term(&mut self, account: &Account, losses: u32, is_app_limited: bool) {
        let may_probe = self.mode == Mode::ProbeBw;
        let begins_round = self.begins_round;
        match self.long_term.sample(account, losses, is_app_limited, begins_round, may_probe) {
            Outcome::Nothing => {}
            Outcome::Policed => self.pacing_gain = UNIT,
            Outcome::ProbeAgain => self.begin_probe_bw(account),
        }
    }

    /// Segments that will be in the network when the next one leaves, if `in_flight` are there now
    /// (`bbr_packets_in_net_at_edt`).
    fn in_flight_then(&self, sample: &RateSample, in_flight: u32) -> u32 {
        let until = sample.paced_until.max(sample.account.now);
        let wait_us = microseconds(until.since(sample.account.now));
        let arrive = u128::from(self.bandwidth()) * u128::from(wait_us) / u128::from(BW_UNIT);
        let rises = self.pacing_gain > UNIT;
        let burst = if rises { self.burst_segments(sample.account.mss_bytes) } else { 0 };
        u128::from(in_flight + burst).saturating_sub(arrive) as u32
    }

    /// `bbr_is_next_cycle_phase`
    fn is_next_phase(&self, sample: &RateSample) -> bool {
        let age_us = sample.account.delivered_at.as_us().saturating_sub(self.cycle_at_us);
        let is_full_length = age_us > u64::from(self.min_rtt_us);
        if self.pacing_gain == UNIT {
            return is_full_length;
        }
        let in_flight = self.in_flight_then(sample, sample.prior_in_flight);
        let fills = |gain| self.inflight(gain, sample.account.mss_bytes);
        if self.pacing_gain > UNIT {
            // A higher gain lasts until it has had an effect.
            return is_full_length && (sample.losses > 0 || in_flight >= fills(self.pacing_gain));
        }
        is_full_length || in_flight <= fills(UNIT)
    }

    /// `bbr_advance_cycle_phase`
    const fn advance_phase(&mut self, account: &Account) {
        self.phase = (self.phase + 1) % CYCLE.len() as u8;
        self.cycle_at_us = account.delivered_at.as_us();
    }

    /// `bbr_reset_probe_bw_mode`
    fn begin_probe_bw(&mut self, account: &Account) {
        self.mode = Mode::ProbeBw;
        let draw = hash(self.seed, account.now) % START_PHASES;
        self.phase = CYCLE.len() as u8 - 1 - draw as u8;
        self.advance_phase(account);
    }

    /// `bbr_check_full_bw_reached`
    fn check_full_bandwidth(&mut self, sample: &RateSample) {
        let is_app_limited = sample.rate.is_some_and(|rate| rate.is_app_limited);
        if self.full_bw_reached || !self.begins_round || is_app_limited {
            return;
        }
        let threshold = u64::from(self.full_bw) * u64::from(FULL_BW_GAIN) / u64::from(UNIT);
        if u64::from(self.bw.get()) >= threshold {
            self.full_bw = self.bw.get();
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.full_bw_reached = self.full_bw_rounds >= FULL_BW_ROUNDS;
    }

    /// `bbr_check_drain`
    fn check_drain(&mut self, sample: &RateSample, window: &mut Window) {
        let mss_bytes = sample.account.mss_bytes;
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(UNIT, mss_bytes);
        }
        if self.mode == Mode::Drain
            && self.in_flight_then(sample, sample.in_flight) <= self.inflight(UNIT, mss_bytes)
        {
            self.begin_probe_bw(&sample.account);
        }
    }

    /// `bbr_update_min_rtt`. Returns true while the round-trip time is probed, this acknowledgment
    /// included.
    fn update_min_rtt(&mut self, sample: &RateSample, window: &mut Window) -> bool {
        let now_us = sample.account.now.as_us();
        let is_expired = now_us > self.min_rtt_at_us + MIN_RTT_WINDOW_US;
        if let Some(rtt) = sample.rtt {
            let rtt_us = saturate(microseconds(rtt));
            if rtt_us < self.min_rtt_us || (is_expired && !sample.is_ack_delayed) {
                self.min_rtt_us = rtt_us;
                self.min_rtt_at_us = now_us;
            }
        }
        if is_expired && !self.restarts && self.mode != Mode::ProbeRtt {
            // In this order, so that a window that an earlier loss has reduced does not replace the
            // one from before the loss.
            self.mode = Mode::ProbeRtt;
            self.save_window(window.cwnd);
            self.probe_rtt_until_us = 0;
        }
        let probes = self.mode == Mode::ProbeRtt;
        if probes {
            self.probe_rtt(sample, window);
        }
        self.restarts &= sample.acked == 0;
        probes
    }

    /// Keeps the flight small for 200 ms, and for a round.
    fn probe_rtt(&mut self, sample: &RateSample, window: &mut Window) {
        if self.probe_rtt_until_us == 0 {
            if sample.in_flight <= CWND_MIN {
                self.probe_rtt_until_us = sample.account.now.as_us() + PROBE_RTT_US;
                self.probe_rtt_round_done = false;
                self.round_end = sample.account.delivered;
            }
            return;
        }
        self.probe_rtt_round_done |= self.begins_round;
        if self.probe_rtt_round_done {
            self.end_probe_rtt_when_due(&sample.account, window);
        }
    }

    /// `bbr_check_probe_rtt_done`
    fn end_probe_rtt_when_due(&mut self, account: &Account, window: &mut Window) {
        let now_us = account.now.as_us();
        if self.probe_rtt_until_us == 0 || now_us <= self.probe_rtt_until_us {
            return;
        }
        self.min_rtt_at_us = now_us;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.begin_probe_bw(account);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_update_gains`
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.bw().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[usize::from(self.phase)], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

impl CongestionControl for Bbr {
    /// Not called: the window follows the delivery rate.
    fn on_ack(&mut self, _acked: Acked, _window: &mut Window) {}

    /// `bbr_ssthresh`: a loss does not change the threshold.
    fn ssthresh_after_loss(&mut self, window: &Window, _flight: u32) -> u32 {
        self.save_window(window.cwnd);
        window.ssthresh
    }

    fn owns_window(&self) -> bool {
        true
    }

    /// `bbr_init`
    fn on_open(&mut self, account: &Account, window: &Window) {
        *self = Self::new(self.seed);
        self.round_end = account.delivered;
        self.min_rtt_us = account.srtt.map_or(u32::MAX, |srtt| saturate(microseconds(srtt)));
        self.min_rtt_at_us = account.now.as_us();
        self.long_term.reset(account);
        self.aggregation.begin_epoch(account.now.as_us());
        self.guess_pacing_rate(account, window.cwnd);
    }

    /// `bbr_main`
    fn on_sample(&mut self, sample: &RateSample, window: &mut Window) -> bool {
        let probes = self.update_model(sample, window);
        self.pace(&sample.account, self.pacing_gain, window.cwnd);
        self.set_window(sample, window);
        probes
    }

    /// `bbr_cwnd_event`: after an idle time the rate is the bandwidth, because more would only fill
    /// queues.
    fn on_start(&mut self, account: &Account, window: &mut Window) {
        self.restarts = true;
        self.aggregation.begin_epoch(account.now.as_us());
        match self.mode {
            Mode::ProbeBw => self.pace(account, UNIT, window.cwnd),
            Mode::ProbeRtt => self.end_probe_rtt_when_due(account, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// `bbr_set_state`: a timeout ends a round.
    fn on_loss(&mut self, account: &Account) {
        self.prior_repair = Repair::Loss;
        self.full_bw = 0;
        self.begins_round = true;
        self.sample_long_term(account, 1, false);
    }

    /// `bbr_undo_cwnd`
    fn on_undo(&mut self, account: &Account) {
        self.full_bw = 0;
        self.full_bw_rounds = 0;
        self.long_term.reset(account);
    }

    fn burst_segments_min(&self) -> Option<u64> {
        Some(self.least_burst())
    }

    fn pacing_bytes_per_s(&self) -> u64 {
        self.pacing_rate
    }
}

/// The rate in bytes per second for a bandwidth and a gain (`bbr_rate_bytes_per_sec`).
fn bytes_per_s(bw: u32, gain: u16, mss_bytes: u32) -> u64 {
    let rate = u128::from(bw) * u128::from(mss_bytes) * u128::from(gain) / u128::from(UNIT);
    u64::try_from(rate * MARGIN_PER_S / u128::from(BW_UNIT)).unwrap_or(u64::MAX)
}

fn saturate(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

const fn microseconds(span: Duration) -> u64 {
    span.as_ns() / 1000
}

/// A hash of the seed and the time (`SplitMix64`: Steele, Lea, Flood, OOPSLA 2014).
const fn hash(seed: u32, at: Time) -> u64 {
    let mut bits = (at.as_ps() ^ ((seed as u64) << 32)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests;
