//! A connection that counts the bytes it carries, and tracks what the server is waiting for. With
//! this information, the server disconnects slow clients but not users who think between two
//! requests.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::application::Application;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The next request.
    Idle,
    /// The rest of a request's header.
    Receiving,
    /// The end of the operation.
    Working,
    /// The client to receive the response.
    Sending,
}

/// The phase of a connection, and how many ticks of its clock have passed since the phase changed
/// or bytes were read or written.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    phase: AtomicU8,
    ticks: AtomicU32,
}

impl Progress {
    /// Starts a phase.
    pub(crate) fn begin(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
        self.ticks.store(0, Relaxed);
    }

    /// Counts a tick. Returns the phase and how many ticks it has had, including this one.
    pub(crate) fn tick(&self) -> (Phase, u32) {
        (self.phase(), self.ticks.fetch_add(1, Relaxed) + 1)
    }

    fn phase(&self) -> Phase {
        [Phase::Idle, Phase::Receiving, Phase::Working, Phase::Sending]
            [usize::from(self.phase.load(Relaxed))]
    }
}

/// A TCP connection, with its phase and ticks.
#[derive(Debug)]
pub(crate) struct Stream {
    tcp: TcpStream,
    progress: Arc<Progress>,
    application: Arc<Application>,
}

impl Stream {
    pub(crate) fn new(
        tcp: TcpStream,
        progress: Arc<Progress>,
        application: Arc<Application>,
    ) -> Self {
        Self { tcp, progress, application }
    }

    fn sent(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = result {
            self.application.counters.bytes_out.fetch_add(bytes as u64, Relaxed);
            if self.progress.phase() == Phase::Sending {
                self.progress.begin(Phase::Sending);
            }
        }
        result
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.tcp).poll_read(context, buffer);
        let bytes = buffer.filled().len() - before;
        if bytes > 0 {
            self.application.counters.bytes_in.fetch_add(bytes as u64, Relaxed);
            if self.progress.phase() == Phase::Idle {
                self.progress.begin(Phase::Receiving);
            }
        }
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write(context, bytes);
        self.sent(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write_vectored(context, slices);
        self.sent(written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Hyper calls this when it has written a whole response.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.tcp).poll_flush(context);
        if flushed.is_ready() && self.progress.phase() == Phase::Sending {
            self.progress.begin(Phase::Idle);
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}
