//! Conversations that go otherwise under Linux 6: it takes a segment for lost that is late by a part of a
//! round trip, reduces the window otherwise, and its timers fire a tick later.

use netstudy_units::{Duration, Time};

use super::lab::solo::{Solo, ack};
use super::lab::{Lab, Server, lab, ms, us};

#[test]
fn a_segment_that_fills_a_gap_is_acknowledged_at_once() {
    let mut lab = lab().open();
    lab.delay(Server.data(1), ms(10));
    // Both together are less than a segment, so that without a gap they would wait.
    lab.write(Server, 400);
    lab.write(Server, 400);
    lab.run_to_completion();
    lab.assert_conversation(
        "0.000 server 1..401 ack 1 (late by 10.000000 ms)
         0.000 server 401..801 ack 1
         5.000 client ack 1 sack 401..801
        15.000 client ack 801",
    );
}

#[test]
fn a_partial_acknowledgment_repeats_its_hole_whatever_the_window_allows() {
    let mut solo = Solo::open(lab().both(|c| c.sack = false).client_config());
    solo.writes(ms(0), 10_000);
    for _ in 0..3 {
        solo.hears(ms(10), &ack(1));
    }
    // Ten were sent, three have arrived, one is lost, its copy is on the way; the other duplicates are
    // lost. So far it is more than the window of five.
    assert_eq!((solo.end().in_flight(), solo.end().window().cwnd), (7, 5));
    // Two are acknowledged, one of them a duplicate before: 8 left, two of them have arrived, the oldest
    // is lost and on the way again (RFC 6582, 3.2, step 3).
    let said = solo.hears(ms(20), &ack(2001));
    assert_eq!(said.iter().map(|s| s.seq).collect::<Vec<_>>(), [2001]);
    assert_eq!(solo.end().in_flight(), 8 - 2);
}

/// When a lost segment is repeated under a clock that ticks each 4 ms, the first time at `phase`.
fn repeated_with_phase(phase: Duration) -> (Lab, Duration) {
    let mut lab = lab()
        .both(|c| {
            c.clock_tick = ms(4);
            c.clock_phase = phase;
        })
        .open();
    lab.lose(Server.data(1));
    lab.write(Server, 1000);
    lab.run_to_completion();
    let repeated = lab.sent(Server.data(1))[1];
    (lab, repeated)
}

#[test]
fn the_timer_fires_on_the_next_tick_of_the_clock() {
    // The connection is open at 15 ms of the clock, so the timer expires at 215 ms of it.
    let (lab, _) = repeated_with_phase(ms(0));
    assert_eq!(lab.opened_at(), Time::ZERO + ms(15));
    for (phase, tick) in
        [(ms(0), ms(216)), (ms(1), ms(217)), (ms(2), ms(218)), (us(2500), us(218_500))]
    {
        assert_eq!(repeated_with_phase(phase).1, tick - ms(15));
    }
    assert_eq!(repeated_with_phase(ms(3)).1, ms(200), "the timer expires on a tick");
}
