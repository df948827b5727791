//! BBR over a path with a rate and a queue without a limit, between hosts with the TCP of Linux 6.
//!
//! Segments have 1000 bytes of payload and 40 bytes of headers. At 8.32 Mbit/s the path carries a segment
//! a millisecond; the round-trip time is 40 ms, so that 40 segments fill the path.

use netstudy_tcp::{Bbr, Congestion, Mode};
use netstudy_units::{Duration, Rate};

use crate::lab::{Client, Lab, Server, Setup, linux6, ms, us};

fn setup() -> Setup {
    linux6()
        .both(|c| {
            c.congestion = Congestion::Bbr(Bbr::new(1));
            c.send_buffer_bytes = 1_000_000_000;
            c.receive_buffer_bytes = 1_000_000_000;
        })
        .rate(Rate::from_bps(8_320_000))
        .delay(ms(20))
}

const fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// A lab whose server has sent for this time, with data always at hand.
fn sent_for(setup: &Setup, time: Duration) -> Lab {
    let mut lab = setup.open();
    lab.write(Server, 1_000_000_000);
    lab.run_until(time);
    lab
}

#[test]
fn the_path_is_full_and_the_queue_short() {
    let mut lab = setup().open();
    lab.write(Server, 1_000_000_000);
    lab.run_until(seconds(2));
    let before = lab.end(Client).bytes_received();
    lab.run_until(seconds(8));
    let per_s = (lab.end(Client).bytes_received() - before) / 6;
    // 1 MB/s are all of the path. One phase of a cycle drains the queue of another one.
    assert!(per_s > 970_000, "{per_s} B/s");
    let model = lab.end(Server).model().expect("it is BBR");
    assert_eq!(model.mode, Mode::ProbeBw);
    // The shortest one is that of the handshake: 44 bytes each way take 0.04 ms.
    let least = model.min_rtt.expect("there were samples");
    assert!((ms(40)..ms(41)).contains(&least), "{least}");
    let srtt = lab.end(Server).rtt().srtt().expect("there were samples");
    assert!(srtt < ms(60), "the queue is at most a quarter of the round trip and bursts: {srtt}");
    let found = model.bandwidth_bytes_per_s;
    assert!((970_000..1_050_000).contains(&found), "{found} B/s");
}

#[test]
fn cubic_fills_the_same_queue() {
    let cubic = linux6().client_config().congestion;
    let lab = sent_for(&setup().both(|c| c.congestion = cubic), seconds(8));
    let srtt = lab.end(Server).rtt().srtt().expect("there were samples");
    assert!(srtt > ms(200), "{srtt}");
}

#[test]
fn the_flight_is_four_segments_for_200_ms_every_ten_seconds() {
    let mut lab = sent_for(&setup(), seconds(9));
    let mut probes: Vec<(Duration, Duration)> = Vec::new();
    let mut probing = None;
    let mut at = seconds(9);
    while at < seconds(25) {
        at = at + ms(1);
        lab.run_until(at);
        let is_probing = lab.end(Server).model().is_some_and(|model| model.mode == Mode::ProbeRtt);
        match (probing, is_probing) {
            (None, true) => probing = Some(at),
            (Some(began), false) => {
                probes.push((began, at));
                probing = None;
            }
            _ => {}
        }
        if probing.is_some_and(|began| at > began + ms(100)) {
            assert!(lab.end(Server).in_flight() <= 4);
        }
    }
    // The minimum is of the first second; the next probe follows ten seconds after the first one, or
    // after a smaller sample in it.
    assert_eq!(probes.len(), 2, "{probes:?}");
    for &(began, ended) in &probes {
        let length = ended - began;
        assert!((ms(200)..ms(350)).contains(&length), "{length}");
    }
    let between = probes[1].0 - probes[0].1;
    assert!((seconds(10)..seconds(10) + ms(200)).contains(&between), "{between}");
}

#[test]
fn segments_leave_at_the_pacing_rate() {
    let mut lab = sent_for(&setup(), seconds(5));
    let rate = lab.end(Server).pacing_bytes_per_s().expect("it is paced");
    let at = lab.now();
    lab.run_until(at + ms(30));
    let sent: Vec<_> = lab.data_times(Server).into_iter().filter(|&time| time > at).collect();
    // A segment at this rate, at half of it if the one before was late, and never less.
    let gap = Duration::from_ps(1000 * 1_000_000_000_000 / rate);
    assert!(sent.len() > 15, "{sent:?}");
    for pair in sent.windows(2) {
        let found = pair[1] - pair[0];
        assert!(found + us(1) >= gap.div(2), "{found} after {:?}, {gap}", pair[0]);
    }
    let span = *sent.last().expect("there are some") - sent[0];
    let least = gap * (sent.len() as u64 - 1);
    assert!(span + gap >= least.div(10) * 8, "{span}, {least}");
}

#[test]
fn random_losses_do_not_slow_it_down() {
    let mut lab = setup().open();
    // Every 100th segment is lost.
    for nth in 1..80 {
        lab.lose(Server.data(100 * nth));
    }
    lab.write(Server, 1_000_000_000);
    lab.run_until(seconds(8));
    let received = lab.end(Client).bytes_received();
    assert!(received > 7_000_000, "{received} B");
    assert_eq!(lab.counters(Server).timeouts, 0);
}

#[test]
fn a_sender_with_little_data_keeps_its_estimate_of_the_bandwidth() {
    let mut lab = setup().open();
    lab.write(Server, 4_000_000);
    lab.run_until(seconds(5));
    let before = lab.end(Server).model().expect("it is BBR").bandwidth_bytes_per_s;
    for nth in 0..80 {
        lab.run_until(seconds(5) + ms(50) * nth);
        lab.write(Server, 1_000);
    }
    let after = lab.end(Server).model().expect("it is BBR").bandwidth_bytes_per_s;
    assert_eq!(after, before);
}
