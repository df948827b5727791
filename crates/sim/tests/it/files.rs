//! Files by FTP, whose times can be worked out by hand.

use netstudy_records::{
    DataPath, Direction, FileSink, FileSource, Ftp, Phase, PhaseKind, Roles, Run, RunRecord,
    TransferSamples, Until, Workload,
};

use crate::lab::{self, DEEP, make_ok};

/// Picoseconds a byte at 10 Gbit/s.
const BYTE_PS: u64 = 800;
/// Ethernet header, check sequence, preamble and gap; IPv4, TCP and timestamps.
const AROUND_BYTES: u64 = 38 + 52;
/// Options of a SYN beyond timestamps.
const SYN_OPTIONS_BYTES: u64 = 12;
const LINK_PS: u64 = 1_000_000;

/// Time of a segment on one link.
fn wire_ps(payload_bytes: u64) -> u64 {
    (payload_bytes + AROUND_BYTES) * BYTE_PS
}

/// From the socket of one host to that of another: twice on a wire, twice over a link.
fn one_way_ps(payload_bytes: u64) -> u64 {
    2 * (wire_ps(payload_bytes) + LINK_PS)
}

/// Of what is said on the control connection.
fn said_ps(text: &str) -> u64 {
    one_way_ps(text.len() as u64)
}

fn roles(clients: u32, servers: u32) -> Roles {
    let hosts =
        |from: u32, count: u32| (from..from + count).map(|n| format!("server-{n}")).collect();
    Roles { client: hosts(1, clients), server: hosts(1 + clients, servers) }
}

const MADE: Ftp =
    Ftp { source: FileSource::Memory, sink: FileSink::Null, data_path: DataPath::Copying };

/// Files between hosts of a star; `repeats` of each flow are measured.
fn files(clients: u32, servers: u32, direction: Direction, size_bytes: u64, repeats: u32) -> Run {
    let mut run = lab::run(clients + servers, DEEP);
    lab::set_iterations(&mut run, 0, repeats);
    run.workload = Workload::Transfer(netstudy_records::Transfer {
        roles: roles(clients, servers),
        direction,
        size_bytes: Some(size_bytes),
        flows: 1,
        request_bytes: 64,
        pause_ns: 0,
        starts_ns: Vec::new(),
        ftp: Some(MADE),
    });
    run
}

fn table(record: &RunRecord) -> &TransferSamples {
    record.samples.transfer.as_ref().expect("there were transfers")
}

/// How long each transfer took.
fn took_ns(record: &RunRecord) -> Vec<u64> {
    let table = table(record);
    table.end_ns.iter().zip(&table.start_ns).map(|(end, start)| end - start).collect()
}

/// From the first command to the server's `150`: passive mode, the data connection, and RETR or STOR behind
/// the acknowledgment that completes that connection.
fn asked_ps(command: &str) -> u64 {
    said_ps("EPSV\r\n")
        + said_ps("229 Entering Extended Passive Mode (|||49152|)\r\n")
        + 2 * one_way_ps(SYN_OPTIONS_BYTES)
        + wire_ps(0)
        + said_ps(command)
}

const BEGINS: &str = "150 Here it comes.\r\n";

#[test]
fn a_session_connects_and_logs_in_message_by_message() {
    let record = make_ok(&files(1, 1, Direction::Get, 8_948, 1));
    let connections = lab::connections(&record);
    let connect_ps = 2 * one_way_ps(SYN_OPTIONS_BYTES);
    let said = [
        "USER netstudy\r\n",
        "331 The password, please.\r\n",
        "PASS netstudy\r\n",
        "230 Logged in.\r\n",
        "TYPE I\r\n",
        "200 Binary.\r\n",
        "SIZE data\r\n",
        "213 8948\r\n",
    ];
    // The server's greeting follows the acknowledgment that opens the connection there.
    let logs_in_ps = one_way_ps(0) + said_ps("220 netstudy\r\n");
    let logs_in_ps = logs_in_ps + said.iter().map(|text| said_ps(text)).sum::<u64>();
    assert_eq!(connections.connect_ns, Some(vec![connect_ps / 1000]));
    let login_ns = connections.login_ns.as_ref().expect("it logged in")[0];
    assert!(login_ns.abs_diff(logs_in_ps / 1000) <= 1, "{login_ns} ns of {logs_in_ps} ps");
}

#[test]
fn a_get_of_one_segment_ends_when_its_connection_does() {
    let record = make_ok(&files(1, 1, Direction::Get, 8_948, 1));
    // The file follows the reply on the wire, and the end of its connection follows the file.
    let data_ps = wire_ps(BEGINS.len() as u64) + one_way_ps(8_948);
    let begins_ps = asked_ps("RETR data\r\n") + data_ps;
    let took = took_ns(&record);
    let expected = (begins_ps + wire_ps(0)) / 1000;
    assert!(took.len() == 1 && took[0].abs_diff(expected) <= 1, "{took:?} {expected}");
    let table = table(&record);
    let first_ns = table.first_byte_ns.as_ref().expect("files have a first byte")[0];
    assert!((first_ns - table.start_ns[0]).abs_diff(begins_ps / 1000) <= 1, "{first_ns}");
    assert_eq!((table.bytes_received[0], table.bytes_sent[0]), (8_948, 0));
}

#[test]
fn a_put_of_one_segment_ends_when_the_server_confirms_it() {
    let record = make_ok(&files(1, 1, Direction::Put, 8_948, 1));
    let stored_ps = said_ps(BEGINS) + one_way_ps(8_948) + wire_ps(0);
    // The confirmation follows the acknowledgments of the file and of its end.
    let confirmed_ps = said_ps("226 The transfer is complete.\r\n");
    let expected = (asked_ps("STOR data\r\n") + stored_ps + confirmed_ps) / 1000;
    let took = took_ns(&record);
    let acks_ns = 2 * wire_ps(0) / 1000;
    assert!(
        took.len() == 1 && took[0] >= expected && took[0] <= expected + acks_ns + 1,
        "{took:?} {expected}"
    );
    let table = table(&record);
    assert_eq!((table.bytes_received[0], table.bytes_sent[0]), (0, 8_948));
}

#[test]
fn each_file_has_a_connection_of_its_own() {
    for direction in [Direction::Get, Direction::Put] {
        let record = make_ok(&files(1, 1, direction, 1_000_000, 600));
        let took = took_ns(&record);
        assert_eq!(took.len(), 600);
        // Slow start begins anew with each connection, so that all take as long as the first one.
        assert!(took.iter().all(|ns| ns.abs_diff(took[0]) <= 1), "{took:?}");
        let connections = lab::connections(&record);
        let moved = (connections.bytes_received[0], connections.bytes_sent[0]);
        let bytes = 600 * 1_000_000;
        assert_eq!(moved, if direction == Direction::Put { (0, bytes) } else { (bytes, 0) });
    }
}

#[test]
fn clients_of_one_server_share_its_link() {
    let record = make_ok(&files(4, 1, Direction::Get, 10_000_000, 3));
    assert_eq!(table(&record).connection.len(), 12);
    let measure = lab::measure(&record);
    let least_ns = 120_000_000 * 9_038 / 8_948 * BYTE_PS / 1000;
    let took = measure.end_ns - measure.start_ns;
    assert!(took > least_ns && took < least_ns * 11 / 10, "{took} ns of {least_ns} ns");
}

#[test]
fn files_are_whole_where_frames_are_lost() {
    let mut run = files(6, 1, Direction::Put, 3_000_000, 5);
    lab::switch(&mut run).buffer = lab::drop_tail(100_000);
    let record = make_ok(&run);
    let connections = lab::connections(&record);
    assert!(
        lab::known(connections.retransmissions.as_ref()).iter().sum::<u64>() > 0,
        "nothing was lost"
    );
    assert_eq!(connections.bytes_sent.iter().sum::<u64>(), 6 * 5 * 3_000_000);
}

#[test]
fn files_follow_each_other_for_a_time() {
    let mut run = files(2, 1, Direction::Get, 1_000_000, 1);
    let until = Some(Until::Time { ns: 1_500_000_000 });
    run.phases = [PhaseKind::WarmUp, PhaseKind::Measure].map(|kind| Phase { kind, until }).to_vec();
    let record = make_ok(&run);
    let seconds = record.samples.second.as_ref().expect("each second is sampled");
    // A whole second and the half behind it, of two connections.
    assert_eq!(seconds.start_ns, [0, 0, 1_000_000_000, 1_000_000_000]);
    let connections = lab::connections(&record);
    let moved: u64 = connections.bytes_received.iter().sum();
    assert_eq!(seconds.bytes_received.iter().sum::<u64>(), moved);
    let goodput = moved as f64 * 8.0 / 1.5;
    assert!((7e9..9.9e9).contains(&goodput), "{goodput} bit/s");
}
