//! A small incast table, frozen: a change of it is a change of the model, to be explained.
//!
//! `oracles.rs` checks the figures against formulas; this test only checks that they do not change.
//! After an intended change: `UPDATE_GOLDEN=1 cargo test -p netstudy-sim --test it golden`.

use std::fmt::Write;
use std::path::Path;

use netstudy_records::{Buffer, Forwarding, Jitter, Run};

use crate::lab::{self, DROP_TAIL, GUARANTEED, INGRESS, PROFILES, incast, make_ok, run, run_with};

const ITERATIONS: u32 = 50;

#[test]
fn the_incast_table_does_not_move() {
    let mut table = String::from("buffer servers completion_us drops retransmissions timeouts\n");
    for (name, buffer) in [("drop-tail", DROP_TAIL), ("shared", GUARANTEED), ("ingress", INGRESS)] {
        for servers in [1, 2, 8, 23] {
            writeln!(table, "{name} {servers} {}", row(run(servers, buffer)))
                .expect("a string grows");
        }
    }
    assert_golden("incast.txt", &table);
}

#[test]
fn the_incast_table_of_each_whole_tcp_does_not_move() {
    let mut table =
        String::from("tcp buffer servers completion_us drops retransmissions timeouts\n");
    for profile in PROFILES {
        for (name, buffer) in [("drop-tail", DROP_TAIL), ("ingress", INGRESS)] {
            for servers in [1, 4, 16] {
                let row = row(run_with(profile, servers, buffer));
                writeln!(table, "{profile} {name} {servers} {row}").expect("a string grows");
            }
        }
    }
    assert_golden("tcp_profiles.txt", &table);
}

#[test]
fn small_queues_change_no_time_of_a_server_that_has_the_port_to_itself() {
    // Frames that wait in the server's interface or behind it leave at the same times.
    for buffer in [DROP_TAIL, INGRESS] {
        let with_limit = |limit_output_bytes| {
            let mut run = run_with("linux-6", 1, buffer);
            run.network.groups[1].tcp.limit_output_bytes = limit_output_bytes;
            row(run)
        };
        assert_eq!(with_limit(1 << 20), with_limit(0));
    }
}

fn assert_golden(file: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, table).expect("the golden can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden is there");
    assert_eq!(table, golden);
}

/// Sums over all iterations, the completion time in whole microseconds.
fn row(mut run: Run) -> String {
    lab::switch(&mut run).forwarding = match lab::switch(&mut run).buffer {
        Buffer::IngressQueued(_) => Forwarding::CutThrough,
        _ => Forwarding::StoreAndForward,
    };
    lab::set_iterations(&mut run, 10, ITERATIONS);
    *incast(&mut run) = netstudy_records::Incast {
        request_spacing_ns: 5_000,
        start_jitter: Jitter::Exponential { mean_ns: 75_000 },
        ..incast(&mut run).clone()
    };
    let samples = lab::iterations(&make_ok(&run)).clone();
    let sum = |values: &[u64]| values.iter().sum::<u64>();
    format!(
        "{} {} {} {}",
        sum(&samples.completion_ns) / 1000 / u64::from(ITERATIONS),
        sum(samples.dropped_packets.as_ref().expect("the simulator knows drops by iteration")),
        sum(lab::known(samples.retransmissions.as_ref())),
        sum(lab::known(samples.timeouts.as_ref())),
    )
}
