//! The answering side of probes between hosts: a TCP and a UDP port of the same number.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

/// How often a free port is looked for that both protocols have free.
const ATTEMPTS: u32 = 20;
/// Bytes of an answer to a datagram.
pub(crate) const ANSWER_BYTES: usize = 8;
/// The first bytes of a datagram, which the answer repeats.
pub(crate) const TAG_BYTES: usize = 4;

/// The answer to a datagram: its length, and its first bytes.
pub(crate) fn answer(length: usize, tag: [u8; TAG_BYTES]) -> [u8; ANSWER_BYTES] {
    let mut answer = [0; ANSWER_BYTES];
    answer[..4].copy_from_slice(&(length as u32).to_be_bytes());
    answer[4..].copy_from_slice(&tag);
    answer
}

/// Ports that are open, by the number of the command that opened them.
#[derive(Debug, Default)]
pub(crate) struct Listeners(BTreeMap<u64, Arc<EventFd>>);

impl Listeners {
    /// Opens both ports, for a time. Returns their number.
    pub(crate) fn listen(
        &mut self,
        n: u64,
        local: Ipv4Addr,
        peers: Vec<Ipv4Addr>,
        port: u16,
        time: Duration,
    ) -> io::Result<u16> {
        let (tcp, udp) = open(local, port)?;
        let port = tcp.local_addr()?.port();
        let closed = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?);
        let listener = Listener {
            tcp,
            udp,
            peers,
            closed: Arc::clone(&closed),
            deadline: Instant::now() + time,
        };
        let thread = thread::Builder::new().name(format!("listen {n}"));
        thread.spawn(move || listener.serve())?;
        self.0.insert(n, closed);
        Ok(port)
    }

    /// Closes ports; all, if there is no number.
    pub(crate) fn close(&mut self, n: Option<u64>) {
        let closing = match n {
            Some(n) => self.0.remove(&n).into_iter().collect(),
            None => std::mem::take(&mut self.0).into_values().collect::<Vec<_>>(),
        };
        for closed in closing {
            // Adding one to a counter cannot fail before 2^64 additions.
            let _ = closed.write(1);
        }
    }
}

/// Opens a TCP and a UDP socket with the same port.
fn open(local: Ipv4Addr, port: u16) -> io::Result<(TcpListener, UdpSocket)> {
    let mut attempts = 0..if port == 0 { ATTEMPTS } else { 1 };
    loop {
        attempts.next();
        let tcp = TcpListener::bind((local, port))?;
        match UdpSocket::bind(tcp.local_addr()?) {
            Ok(udp) => {
                tcp.set_nonblocking(true)?;
                udp.set_nonblocking(true)?;
                return Ok((tcp, udp));
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && !attempts.is_empty() => {}
            Err(error) => return Err(error),
        }
    }
}

struct Listener {
    tcp: TcpListener,
    udp: UdpSocket,
    peers: Vec<Ipv4Addr>,
    closed: Arc<EventFd>,
    deadline: Instant,
}

impl Listener {
    /// Answers until the time is over, or the ports are closed.
    fn serve(&self) {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left.as_micros().div_ceil(1000));
            let mut fds = [self.closed.as_fd(), self.tcp.as_fd(), self.udp.as_fd()]
                .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
            let _ = poll(&mut fds, timeout.unwrap_or(PollTimeout::MAX));
            if fds[0].any() != Some(false) || left.is_zero() {
                return;
            }
            // A connection is closed as soon as it was accepted, whoever has opened it.
            while self.tcp.accept().is_ok() {}
            self.answer_datagrams();
        }
    }

    fn answer_datagrams(&self) {
        let mut datagram = vec![0; 1 << 16];
        while let Ok((length, from)) = self.udp.recv_from(&mut datagram) {
            let tag = datagram[..length].first_chunk::<TAG_BYTES>();
            if let Some(tag) = tag.filter(|_| self.is_peer(from)) {
                // A full queue loses the answer, as a network might.
                let _ = self.udp.send_to(&answer(length, *tag), from);
            }
        }
    }

    fn is_peer(&self, from: SocketAddr) -> bool {
        matches!(from.ip(), IpAddr::V4(ip) if self.peers.contains(&ip))
    }
}
