//! Whole connections under random trouble: with segments lost, late, doubled or reordered, all written
//! data arrives once and in order soon after the path is whole again, and both ends close.
//!
//! Each end has a recovery, a congestion control, a segmentation offload and a timeout rule of its own,
//! in all combinations. `PROPTEST_CASES` makes the run longer: a case is about thirty random operations
//! (writes, fates of segments), so 40000 are more than a million.

use netstudy_tcp::{Bbr, Bic, Congestion, Cubic, OffloadRule, Recovery, Reno, RtoRule, State};
use netstudy_units::{Duration, Rate};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::lab::{Client, Fate, Lab, Server, Setup, Side, lab, ms, us};

/// Configuration of both ends, common and separate parts.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
struct Ends {
    sack: [bool; 2],
    timestamps: [bool; 2],
    ecn: [bool; 2],
    mtu_bytes: [u32; 2],
    receive_buffer_bytes: [u32; 2],
    send_buffer_bytes: u32,
    initial_window_segments: Option<u32>,
    ack_every_segments: u32,
    quick_ack_segments: u32,
    quick_ack_disorder: bool,
    ack_pushed: bool,
    nodelay: bool,
    restart_after_idle: bool,
    min_rto_ms: u64,
    max_rto_ms: u64,
    clock_tick_ms: u64,
    clock_phase_us: [u64; 2],
    flavours: [Flavour; 2],
}

/// The TCP of one end.
#[derive(Clone, Copy, Debug)]
struct Flavour {
    recovery: Recovery,
    congestion: Congestion,
    offload_bytes: u32,
    offload_rule: OffloadRule,
    offload_request_bytes: u32,
    limit_output_bytes: u32,
    rto_rule: RtoRule,
}

#[derive(Clone, Debug)]
struct Network {
    delay_us: u64,
    rate_bps: Option<u64>,
    /// Fates of the first segments of each side, handshake included.
    fates: [Vec<Fate>; 2],
    /// Fates of the segments of each side once it closes.
    last_fates: [Vec<Fate>; 2],
}

/// Actions of the applications, each after a gap.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Write(Side, u64),
    /// The client ends its stream: no further write.
    CloseClient,
}

fn recoveries() -> Vec<Recovery> {
    let prr = |rack, tail_loss_probe| Recovery::Prr { rack, tail_loss_probe };
    vec![
        Recovery::Rfc,
        Recovery::Fack,
        prr(true, true),
        prr(true, false),
        prr(false, true),
        prr(false, false),
    ]
}

fn flavour() -> impl Strategy<Value = Flavour> {
    // DCTCP repeats acknowledgments, which the laws of the lab do not know.
    let congestion = vec![
        Congestion::Reno(Reno::new(false)),
        Congestion::Reno(Reno::new(true)),
        Congestion::Bic(Bic::default()),
        Congestion::Cubic(Cubic::new(false)),
        Congestion::Cubic(Cubic::new(true)),
        Congestion::Bbr(Bbr::new(1)),
    ];
    (
        select(recoveries()),
        select(congestion),
        select(vec![0_u32, 1, 3000, 26_844, 65_536]),
        (
            select(vec![OffloadRule::Deferral, OffloadRule::Autosizing]),
            select(vec![0_u32, 4096, 16_384]),
        ),
        select(vec![0_u32, 1, 4_000, 1 << 20]),
        select(vec![RtoRule::Rfc6298, RtoRule::Linux]),
    )
        .prop_map(
            |(
                recovery,
                congestion,
                offload_bytes,
                (offload_rule, requests),
                limit_output_bytes,
                rto_rule,
            )| {
                // BBR works with the recovery of Linux 6 only.
                let is_prr = matches!(recovery, Recovery::Prr { .. });
                let is_bbr = matches!(congestion, Congestion::Bbr(_));
                let with_bbr = Recovery::Prr { rack: true, tail_loss_probe: true };
                Flavour {
                    recovery: if is_bbr && !is_prr { with_bbr } else { recovery },
                    congestion,
                    offload_bytes,
                    offload_rule,
                    offload_request_bytes: requests,
                    limit_output_bytes,
                    rto_rule,
                }
            },
        )
}

fn ends() -> impl Strategy<Value = Ends> {
    let both = || [any::<bool>(), any::<bool>()];
    let mtu = || select(vec![120_u32, 576, 1040, 1500, 9000]);
    let buffer = || select(vec![200_u32, 3000, 20_000, 200_000, 4_000_000]);
    let options = (both(), both(), [mtu(), mtu()], [buffer(), buffer()], buffer());
    let windows = (select(vec![None, Some(1), Some(3), Some(10)]), 1..5_u32, 0..16_u32);
    let timers = (select(vec![1_u64, 20, 200]), 1_000..10_000_u64, select(vec![0_u64, 1, 10]));
    let phases = [0..10_000_u64, 0..10_000_u64];
    let flavours = [flavour(), flavour()];
    (options, windows, timers, any::<[bool; 6]>(), phases, flavours).prop_map(
        |(
            options,
            windows,
            timers,
            [restart_after_idle, client_ecn, server_ecn, ack_pushed, quick_ack_disorder, nodelay],
            clock_phase_us,
            flavours,
        )| Ends {
            sack: options.0,
            timestamps: options.1,
            ecn: [client_ecn, server_ecn],
            mtu_bytes: options.2,
            receive_buffer_bytes: options.3,
            send_buffer_bytes: options.4,
            initial_window_segments: windows.0,
            ack_every_segments: windows.1,
            quick_ack_segments: windows.2,
            quick_ack_disorder,
            ack_pushed,
            nodelay,
            restart_after_idle,
            min_rto_ms: timers.0,
            max_rto_ms: timers.1,
            clock_tick_ms: timers.2,
            clock_phase_us,
            flavours,
        },
    )
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Arrives),
        3 => Just(Fate::Lost),
        2 => Just(Fate::Marked),
        2 => (0..100_000_u64).prop_map(|late| Fate::Late(us(late))),
        1 => (0..50_000_u64).prop_map(|late| Fate::Twice(us(late))),
    ]
}

fn network() -> impl Strategy<Value = Network> {
    let rate = prop_oneof![Just(None), (1_000_000..1_000_000_000_u64).prop_map(Some)];
    let fates = || vec(fate(), 0..120);
    // A path cut for longer than TIME-WAIT would leave one side without a peer: at most three losses.
    let last = || vec(fate(), 0..4);
    (0..30_000_u64, rate, [fates(), fates()], [last(), last()]).prop_map(
        |(delay_us, rate_bps, fates, last_fates)| Network { delay_us, rate_bps, fates, last_fates },
    )
}

fn deed() -> impl Strategy<Value = (u64, Deed)> {
    let side = || select(vec![Client, Server]);
    let deed = prop_oneof![
        10 => (side(), 1..40_000_u64).prop_map(|(side, bytes)| Deed::Write(side, bytes)),
        1 => Just(Deed::CloseClient),
    ];
    (prop_oneof![Just(0_u64), 0..50_u64, 0..3000_u64], deed)
}

fn setup(ends: &Ends, network: &Network) -> Setup {
    let setup = lab().delay(us(network.delay_us)).both(|c| {
        c.send_buffer_bytes = ends.send_buffer_bytes;
        c.initial_window_segments = ends.initial_window_segments;
        c.ack_every_segments = ends.ack_every_segments;
        c.quick_ack_segments = ends.quick_ack_segments;
        c.quick_ack_disorder = ends.quick_ack_disorder;
        c.ack_pushed = ends.ack_pushed;
        c.nodelay = ends.nodelay;
        c.restart_after_idle = ends.restart_after_idle;
        c.min_rto = ms(ends.min_rto_ms);
        c.max_rto = ms(ends.max_rto_ms);
        c.clock_tick = ms(ends.clock_tick_ms);
    });
    let change = |side: Side| {
        move |c: &mut netstudy_tcp::Config| {
            c.sack = ends.sack[side as usize];
            c.timestamps = ends.timestamps[side as usize];
            c.ecn = ends.ecn[side as usize];
            c.mtu_bytes = ends.mtu_bytes[side as usize];
            c.receive_buffer_bytes = ends.receive_buffer_bytes[side as usize];
            c.clock_phase = us(ends.clock_phase_us[side as usize]);
            let flavour = ends.flavours[side as usize];
            c.recovery = flavour.recovery;
            c.congestion = flavour.congestion;
            c.offload_bytes = flavour.offload_bytes;
            c.offload_rule = flavour.offload_rule;
            c.offload_request_bytes = flavour.offload_request_bytes;
            c.limit_output_bytes = flavour.limit_output_bytes;
            c.rto_rule = flavour.rto_rule;
        }
    };
    let setup = setup.client(change(Client)).server(change(Server));
    network.rate_bps.map_or(setup, |bps| setup.rate(Rate::from_bps(bps)))
}

struct Case {
    lab: Lab,
    written: [u64; 2],
    client_closed: bool,
    patience: Patience,
}

/// How long all that was written may take on a path that is whole.
struct Patience {
    max_rto: Duration,
    /// A segment with none before it, its delayed acknowledgment included.
    per_segment: Duration,
    segment_bytes: u64,
}

impl Patience {
    fn new(ends: &Ends, network: &Network) -> Self {
        let narrowest = |values: [u32; 2]| values.into_iter().min().unwrap_or(1);
        let mss = narrowest(ends.mtu_bytes) - 52;
        let buffers = narrowest(ends.receive_buffer_bytes).min(ends.send_buffer_bytes);
        let slowest = Rate::from_bps(network.rate_bps.unwrap_or(1_000_000_000));
        Self {
            max_rto: ms(ends.max_rto_ms),
            per_segment: us(2 * network.delay_us) + ms(51) + slowest.serialization(9000) * 2,
            segment_bytes: u64::from(mss.min(buffers)),
        }
    }

    fn for_bytes(&self, bytes: u64, writes: usize) -> Duration {
        let segments = bytes / self.segment_bytes + 2 * writes as u64 + 10;
        // One timeout at its longest finds out that the path is whole; one more may be spurious.
        self.max_rto * 3 + self.per_segment * segments
    }
}

impl Case {
    fn new(ends: &Ends, network: &Network) -> Self {
        let mut lab = setup(ends, network).unopened();
        for side in Side::BOTH {
            lab.set_fates(side, network.fates[side as usize].iter().copied());
        }
        lab.connect();
        let patience = Patience::new(ends, network);
        Self { lab, written: [0, 0], client_closed: false, patience }
    }

    fn act(&mut self, gap_ms: u64, deed: Deed) {
        self.lab.run_until(self.lab.now() + ms(gap_ms));
        match deed {
            Deed::Write(Client, _) if self.client_closed => {}
            Deed::Write(side, bytes) => {
                self.lab.write(side, bytes);
                self.written[side as usize] += bytes;
            }
            // Before the connection is open it would end it, and that is another test.
            Deed::CloseClient if self.lab.end(Client).state() == State::SynSent => {}
            Deed::CloseClient => {
                self.lab.close(Client);
                self.client_closed = true;
            }
        }
    }

    /// Waits until all is acknowledged, and no longer than it may take after the last trouble.
    fn finish(&mut self, writes: usize) -> Result<(), TestCaseError> {
        let bytes = self.written.iter().sum();
        while self.unfinished() {
            let start = self.lab.now().max(self.lab.healed_at());
            let deadline = start + self.patience.for_bytes(bytes, writes);
            while self.unfinished() && self.lab.now() < deadline {
                self.lab.run_until(self.lab.now() + ms(100));
            }
            let healed_meanwhile = self.lab.healed_at() > start;
            prop_assert!(
                healed_meanwhile || !self.unfinished(),
                "stuck\n{}",
                self.lab.conversation()
            );
        }
        Ok(())
    }

    fn unfinished(&self) -> bool {
        let opening =
            Side::BOTH.iter().any(|&side| self.lab.end(side).state() == State::SynReceived);
        opening
            || self.lab.end(Client).state() == State::SynSent
            || Side::BOTH.iter().any(|&side| !self.lab.end(side).all_acknowledged())
    }

    fn check_counters(&self) -> Result<(), TestCaseError> {
        for side in Side::BOTH {
            let (counters, peer) = (self.lab.counters(side), self.lab.counters(side.other()));
            let written = self.written[side as usize];
            prop_assert_eq!(peer.bytes_received, written);
            let sent = self.lab.tally(side);
            prop_assert_eq!(counters.segments_sent, sent.segments);
            prop_assert_eq!(counters.segments_retransmitted, sent.copies);
            prop_assert_eq!(counters.bytes_sent, written + sent.copied_bytes);
            prop_assert_eq!(counters.acks_sent, sent.acks);
            prop_assert_eq!(peer.segments_received, self.lab.segments_carried(side));
        }
        Ok(())
    }

    fn close(&mut self, network: &Network) -> Result<(), TestCaseError> {
        for side in Side::BOTH {
            let fates = &network.last_fates[side as usize];
            self.lab.set_fates(side, fates.iter().copied());
        }
        if !self.client_closed {
            self.lab.close(Client);
        }
        self.lab.close(Server);
        self.lab.run_to_completion();
        for side in Side::BOTH {
            prop_assert_eq!(self.lab.end(side).state(), State::Closed, "{:?}", side);
            prop_assert_eq!(self.lab.end(side).in_flight(), 0);
        }
        Ok(())
    }
}

/// A short run unless `PROPTEST_CASES` asks for another.
fn cases() -> ProptestConfig {
    let short = ProptestConfig { cases: 3000, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default() } else { short }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn all_that_is_written_arrives_once_and_in_order(
        ends in ends(),
        network in network(),
        deeds in vec(deed(), 1..12),
    ) {
        let mut case = Case::new(&ends, &network);
        for &(gap_ms, deed) in &deeds {
            case.act(gap_ms, deed);
        }
        case.finish(deeds.len())?;
        case.check_counters()?;
        case.close(&network)?;
    }
}
