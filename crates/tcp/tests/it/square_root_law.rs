//! Reno's rate under loss (Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP
//! congestion avoidance algorithm", Computer Communication Review 27(3), 1997).

use crate::lab::{Client, Fate, Server, Setup, lab, ms};

const ROUND_TRIP_MS: u64 = 100;
const SEGMENT_BYTES: u64 = 1000;

/// Each segment is acknowledged, and the timer leaves the repair to fast recovery, which takes two
/// round trips when the last segment of a window is lost.
fn path() -> Setup {
    let round_trip = lab().delay(ms(ROUND_TRIP_MS / 2));
    round_trip.both(|c| (c.ack_every_segments, c.min_rto) = (1, ms(1000)))
}

/// Segments a round trip while one of `period` transmissions is lost, over 60 such periods.
fn segments_a_round_trip(period: usize) -> f64 {
    let mut lab = path().open();
    let fate = |nth| if nth % period == period - 1 { Fate::Lost } else { Fate::Arrives };
    lab.set_fates(Server, (0..70 * period).map(fate));
    let bytes = |periods| periods * period as u64 * SEGMENT_BYTES;
    lab.write(Server, bytes(69));
    // Slow start and the first losses do not count.
    let began = lab.run_until_received(Client, bytes(5));
    let ended = lab.run_until_received(Client, bytes(65));
    assert_eq!(lab.counters(Server).timeouts, 0, "the law is that of fast recovery");
    let round_trips = (ended.as_ns() - began.as_ns()) as f64 / (ROUND_TRIP_MS * 1_000_000) as f64;
    (bytes(60) / SEGMENT_BYTES) as f64 / round_trips
}

#[test]
fn the_rate_of_reno_falls_with_the_square_root_of_the_loss_rate() {
    for period in [100, 400, 1600] {
        let rate = segments_a_round_trip(period);
        // Equation (3): sqrt(3 / 2) / sqrt(p).
        let law = (1.5 * period as f64).sqrt();
        let ratio = rate / law;
        assert!((0.85..1.1).contains(&ratio), "1 of {period} lost: {rate:.1} against {law:.1}");
    }
}
