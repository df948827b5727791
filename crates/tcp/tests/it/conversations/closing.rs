//! Ends of connections (RFC 9293, 3.6 and 3.10.7).

use netstudy_tcp::{Endpoint, Flags, Segment, State};
use netstudy_units::{Duration, Time};

use super::lab::{Client, Server, lab, ms};

/// Twice the maximum segment lifetime, as in Linux.
const TIME_WAIT: Duration = Duration::from_secs(60);

fn rst(seq: u64) -> Segment {
    Segment { seq, flags: Flags::RST, ..Segment::default() }
}

#[test]
fn the_client_closes_first() {
    let mut lab = lab().open();
    lab.close(Client);
    assert_eq!(lab.end(Client).state(), State::FinWait1);
    lab.run_until(ms(20));
    assert_eq!(lab.end(Server).state(), State::CloseWait);
    assert_eq!(lab.end(Client).state(), State::FinWait2);
    lab.close(Server);
    assert_eq!(lab.end(Server).state(), State::LastAck);
    lab.run_until(ms(30));
    assert_eq!(lab.end(Client).state(), State::TimeWait);
    assert_eq!(lab.end(Server).state(), State::Closed);
    lab.assert_conversation(
        "0.000 client FIN 1 ack 1
         5.000 server ack 2
        20.000 server FIN 1 ack 2
        25.000 client ack 2",
    );
    lab.run_to_completion();
    assert_eq!(lab.end(Client).state(), State::Closed);
    assert_eq!(lab.now(), ms(25) + TIME_WAIT);
}

#[test]
fn the_server_closes_first_behind_its_data() {
    let mut lab = lab().open();
    lab.write(Server, 1500);
    lab.close(Server);
    lab.run_until(ms(10));
    lab.close(Client);
    lab.run_to_completion();
    lab.assert_conversation(
        "0.000 server 1..1001 ack 1
         0.000 server 1001..1501 ack 1
         0.000 server FIN 1501 ack 1
         5.000 client ack 1501
         5.000 client ack 1502
        10.000 client FIN 1 ack 1502
        15.000 server ack 2",
    );
    assert_eq!(lab.counters(Client).bytes_received, 1500);
    assert_eq!(lab.end(Client).state(), State::Closed);
    assert_eq!(lab.end(Server).state(), State::Closed);
}

#[test]
fn both_close_at_once() {
    let mut lab = lab().open();
    lab.close(Client);
    lab.close(Server);
    lab.run_until(ms(7));
    for side in [Client, Server] {
        assert_eq!(lab.end(side).state(), State::Closing);
    }
    lab.run_until(ms(10));
    for side in [Client, Server] {
        assert_eq!(lab.end(side).state(), State::TimeWait);
    }
    lab.assert_conversation(
        "0.000 client FIN 1 ack 1
         0.000 server FIN 1 ack 1
         5.000 server ack 2
         5.000 client ack 2",
    );
    lab.run_to_completion();
    assert_eq!(lab.now(), ms(10) + TIME_WAIT);
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut lab = lab().open();
    lab.lose(Client.fin());
    lab.close(Client);
    lab.run_until(ms(300));
    assert_eq!(lab.sent(Client.fin()), [ms(0), ms(200)]);
    assert_eq!(lab.end(Client).state(), State::FinWait2);
    assert_eq!(lab.end(Server).state(), State::CloseWait);
    assert_eq!(lab.counters(Client).timeouts, 1);
}

#[test]
fn a_fin_that_overtakes_data_waits_for_it() {
    let mut lab = lab().open();
    lab.hold_back(Server.data(2), 2);
    lab.write(Server, 3000);
    lab.close(Server);
    lab.run_to_completion();
    // The FIN takes a place in the sequence space and is reported like data.
    lab.assert_conversation(
        "0.000 server 1..1001 ack 1
         0.000 server 1001..2001 ack 1 (behind 2)
         0.000 server 2001..3001 ack 1
         0.000 server FIN 3001 ack 1
         5.000 client ack 1001 sack 2001..3001
         5.000 client ack 1001 sack 2001..3002
         5.000 client ack 3002",
    );
    assert_eq!(lab.counters(Client).bytes_received, 3000);
    assert_eq!(lab.end(Client).state(), State::CloseWait);
    assert_eq!(lab.end(Server).state(), State::FinWait2);
}

#[test]
fn a_side_that_closed_still_receives() {
    let mut lab = lab().open();
    lab.close(Client);
    lab.run_until(ms(20));
    lab.lose(Server.data(3));
    lab.write(Server, 10_000);
    lab.run_until(ms(40));
    assert_eq!(lab.counters(Client).bytes_received, 10_000);
    assert_eq!(lab.counters(Server).fast_recoveries, 1);
    lab.close(Server);
    lab.run_to_completion();
    assert_eq!(lab.end(Client).state(), State::Closed);
    assert_eq!(lab.end(Server).state(), State::Closed);
}

#[test]
fn a_fin_fits_behind_a_full_window() {
    let mut lab = lab().both(|c| c.receive_buffer_bytes = 2000).open();
    lab.write(Server, 2000);
    lab.close(Server);
    lab.run_until(ms(10));
    assert_eq!(lab.end(Client).state(), State::CloseWait);
    assert_eq!(lab.end(Server).state(), State::FinWait2);
}

#[test]
fn the_last_acknowledgment_is_lost() {
    let mut lab = lab().open();
    lab.close(Client);
    lab.run_until(ms(20));
    lab.lose(Client.ack(1));
    lab.close(Server);
    lab.run_to_completion();
    // The server repeats its FIN, and the client waits afresh (RFC 9293, 3.10.7.4).
    assert_eq!(lab.sent(Server.fin()), [ms(20), ms(220)]);
    assert_eq!(lab.acks(Client), [(ms(25), 2), (ms(225), 2)]);
    assert_eq!(lab.now(), ms(225) + TIME_WAIT);
    assert_eq!(lab.end(Server).state(), State::Closed);
}

#[test]
fn a_copy_of_the_fin_changes_nothing() {
    let mut lab = lab().open();
    lab.write(Server, 500);
    lab.duplicate(Server.fin());
    lab.close(Server);
    lab.run_until(ms(100));
    assert_eq!(lab.end(Client).state(), State::CloseWait);
    assert_eq!(lab.counters(Client).bytes_received, 500);
}

#[test]
fn closing_before_the_connection_is_open_ends_it() {
    let mut lab = lab().unopened();
    lab.lose(Client.syn());
    lab.connect();
    lab.close(Client);
    lab.run_to_completion();
    assert_eq!(lab.end(Client).state(), State::Closed);
    assert_eq!(lab.sent(Client.syn()), [ms(0)], "the timer is gone too");
}

#[test]
fn a_reset_ends_the_connection_and_all_that_waits() {
    let mut lab = lab().open();
    lab.lose(Server.data(1));
    lab.write(Server, 10_000);
    lab.run_until(ms(9));
    // The server has received nothing: it expects offset 1.
    lab.inject(Server, &rst(1));
    assert_eq!(lab.end(Server).state(), State::Closed);
    let sent = lab.segments(Server).count();
    lab.run_to_completion();
    assert_eq!(lab.segments(Server).count(), sent, "not even the retransmission");
    assert_eq!(lab.end(Server).next_timeout(), Time::NEVER);
    assert_eq!(lab.end(Server).in_flight(), 0);
}

#[test]
fn a_reset_counts_only_at_the_next_offset() {
    let mut lab = lab().open();
    lab.inject(Server, &rst(0));
    lab.inject(Server, &rst(5_000_000));
    assert_eq!(lab.segments(Server).count(), 0, "outside of the window: dropped");
    lab.inject(Server, &rst(500));
    assert_eq!(lab.acks(Server), [(ms(0), 1)], "inside: questioned (RFC 9293, 3.10.7.4)");
    assert_eq!(lab.end(Server).state(), State::Established);
}

#[test]
fn a_listener_ignores_a_reset() {
    let mut lab = lab().unopened();
    lab.inject(Server, &rst(0));
    lab.connect();
    lab.run_to_completion();
    assert_eq!(lab.end(Server).state(), State::Established);
}

#[test]
fn a_syn_is_refused_by_a_reset_that_acknowledges_it() {
    let mut refused = Endpoint::connect(lab().client_config());
    refused.poll_transmit(Time::ZERO);
    refused.handle_segment(Time::ZERO, &rst(0));
    assert_eq!(refused.state(), State::SynSent, "not meant for this SYN");
    let answer = Segment { flags: Flags::RST | Flags::ACK, ack: 1, ..Segment::default() };
    refused.handle_segment(Time::ZERO, &answer);
    assert_eq!(refused.state(), State::Closed);
    assert_eq!(refused.next_timeout(), Time::NEVER);
}
