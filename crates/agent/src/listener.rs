//! The door of a server: it lets the run's client in, once, and nobody else.

use std::io;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use netstudy_records::{AgentRecord, Token};

use crate::control::Event;
use crate::greeting;

/// Time that a connection has to say the token.
const GREETING_TIME: Duration = Duration::from_secs(5);

/// Connections that were closed at once.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    wrong_address: AtomicU64,
    wrong_token: AtomicU64,
}

impl Refused {
    pub(crate) fn record(&self) -> AgentRecord {
        AgentRecord::Refused {
            wrong_address: self.wrong_address.load(Ordering::Relaxed),
            wrong_token: self.wrong_token.load(Ordering::Relaxed),
        }
    }
}

/// Who may come in.
pub(crate) struct Door {
    pub(crate) socket: TcpListener,
    pub(crate) client: IpAddr,
    pub(crate) token: Token,
    pub(crate) refused: Arc<Refused>,
    pub(crate) events: Sender<Event>,
}

impl Door {
    /// Takes connections for as long as the process lasts. The first one of the client is handed
    /// over; whatever else comes is closed and counted.
    pub(crate) fn run(self) {
        let mut is_there = false;
        while let Some(stream) = self.accept() {
            match self.judge(&stream, is_there) {
                Ok(()) => {
                    is_there = true;
                    // Nobody waits for the client any more when the process ends.
                    let _ = self.events.send(Event::Connected(stream));
                }
                Err(counter) => {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// The next connection; none if there cannot be one.
    fn accept(&self) -> Option<TcpStream> {
        loop {
            match self.socket.accept() {
                Ok((stream, _)) => return Some(stream),
                // It was gone before it was taken: accept(2).
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether `stream` is the client's one connection, or what it counts as.
    fn judge(&self, stream: &TcpStream, is_there: bool) -> Result<(), &AtomicU64> {
        let Ok(peer) = stream.peer_addr() else { return Err(&self.refused.wrong_address) };
        if peer.ip() != self.client {
            return Err(&self.refused.wrong_address);
        }
        let knows_token = stream.set_read_timeout(Some(GREETING_TIME)).and_then(|()| {
            if is_there { Ok(false) } else { greeting::welcome(stream, &self.token) }
        });
        if matches!(knows_token, Ok(true)) { Ok(()) } else { Err(&self.refused.wrong_token) }
    }
}
