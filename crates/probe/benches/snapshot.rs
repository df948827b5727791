//! Measures what a snapshot of each source costs. Run it with `cargo bench -p netstudy-probe`.

use std::hint::black_box;
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use netstudy_probe::{FlowReader, Probe, Socket, Source, Sources};

/// Number of connections that are open during the measurement, as in a run with this many servers.
const CONNECTIONS: usize = 24;
const SNAPSHOTS: usize = 500;

fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback");
    let address = listener.local_addr().expect("its number");
    let connect = || (TcpStream::connect(address).expect("a peer"), listener.accept().expect("it"));
    let open: Vec<_> = std::iter::repeat_with(connect).take(CONNECTIONS).collect();

    println!("{CONNECTIONS} connections, both ends; median and 99th percentile of {SNAPSHOTS}, µs");
    println!("{:24} {:>8} {:>8} {:>8} {:>8}", "source", "wall", "p99", "CPU", "p99");
    for source in Source::ALL {
        report(source.place(), Sources::of([source]));
    }
    let (client, _) = &open[0];
    report_one(client);
    report("namespace", Sources::of_namespace());
    report("all", Sources::all());
    drop(open);
}

fn report(name: &str, sources: Sources) {
    let mut probe = Probe::open(sources);
    print(name, || {
        let snapshot = probe.take();
        (snapshot.cost_ns, snapshot.cpu_ns)
    });
}

/// Measures a request for one connection, given by its two ends. The request does not wait, so its
/// wall time counts as CPU time.
fn report_one(client: &TcpStream) {
    let socket = Socket {
        local: client.local_addr().expect("a socket's end"),
        remote: client.peer_addr().expect("the other"),
    };
    let mut reader = FlowReader::open().expect("sock_diag");
    print("one connection", || {
        let started = Instant::now();
        black_box(reader.flow(socket).expect("it is open"));
        let took_ns = started.elapsed().as_nanos() as u64;
        (took_ns, took_ns)
    });
}

fn print(name: &str, costs: impl FnMut() -> (u64, u64)) {
    let (wall, cpu): (Vec<_>, Vec<_>) = std::iter::repeat_with(costs).take(SNAPSHOTS).unzip();
    let ([wall, wall_p99], [cpu, cpu_p99]) = (percentiles_us(wall), percentiles_us(cpu));
    println!("{name:24} {wall:8.1} {wall_p99:8.1} {cpu:8.1} {cpu_p99:8.1}");
}

/// The median and the 99th percentile.
fn percentiles_us(mut ns: Vec<u64>) -> [f64; 2] {
    ns.sort_unstable();
    [50, 99].map(|percent| ns[ns.len() * percent / 100] as f64 / 1000.0)
}
