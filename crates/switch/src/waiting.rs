//! Waiting for frames, commands, signals, or a point in time, whichever comes first.
//!
//! A timer wakes a thread tens of microseconds late, several times what a frame takes. So the last bit
//! of the way to a point in time is not slept but asked away, again and again, whether there is
//! something to do; on a machine with one processor, whose work that would hold up, it is slept as
//! well.

use std::os::fd::{BorrowedFd, OwnedFd};

use netstudy_units::{Duration, Time};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::clock::Clock;

/// Nearer points in time are not slept for: 99 of 100 timers of a virtual machine wake within that.
const AWAKE: Duration = Duration::from_us(50);

const INPUT: u64 = u64::MAX;
const SIGNAL: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// A port has received frames.
    Port(usize),
    /// The controller said something, or is gone.
    Input,
    /// SIGTERM.
    Signal,
}

/// All that is waited for.
pub(crate) struct Waiting {
    epoll: Epoll,
    timer: TimerFd,
    /// Holds the signal back from the process.
    _signals: SignalFd,
    events: Vec<EpollEvent>,
    ready: usize,
    awake: Duration,
    alarm: Time,
}

impl Waiting {
    /// Waits for `ports` and `input` from now on. SIGTERM no longer ends the process by itself.
    pub(crate) fn new(ports: &[OwnedFd], input: BorrowedFd<'_>) -> nix::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        let mut terminate = SigSet::empty();
        terminate.add(Signal::SIGTERM);
        terminate.thread_block()?;
        let signals = SignalFd::new(&terminate)?;
        for (port, fd) in ports.iter().enumerate() {
            epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, port as u64))?;
        }
        epoll.add(input, EpollEvent::new(EpollFlags::EPOLLIN, INPUT))?;
        epoll.add(&signals, EpollEvent::new(EpollFlags::EPOLLIN, SIGNAL))?;
        // Edge-triggered, so that an alarm need not be read away.
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        let one_processor = std::thread::available_parallelism().is_ok_and(|n| n.get() == 1);
        Ok(Self {
            epoll,
            timer,
            _signals: signals,
            events: vec![EpollEvent::empty(); ports.len() + 3],
            ready: 0,
            awake: if one_processor { Duration::ZERO } else { AWAKE },
            alarm: Time::NEVER,
        })
    }

    /// Waits until there is something to do, or `until` is near; see [`Self::ready`].
    pub(crate) fn wait(&mut self, clock: Clock, until: Time) -> nix::Result<()> {
        let alarm = until.saturating_sub(self.awake);
        let sleeps = clock.now() < alarm;
        if sleeps && alarm != self.alarm {
            let at = Expiration::OneShot(clock.alarm(alarm));
            self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            self.alarm = alarm;
        }
        let timeout = if sleeps { EpollTimeout::NONE } else { EpollTimeout::ZERO };
        self.ready = match self.epoll.wait(&mut self.events, timeout) {
            Err(Errno::EINTR) => 0,
            other => other?,
        };
        Ok(())
    }

    /// What there is to do, as of the last call of [`Self::wait`].
    pub(crate) fn ready(&self) -> usize {
        self.ready
    }

    /// The thing to do with that number.
    pub(crate) fn get(&self, number: usize) -> Option<Ready> {
        match self.events[number].data() {
            INPUT => Some(Ready::Input),
            SIGNAL => Some(Ready::Signal),
            TIMER => None,
            port => Some(Ready::Port(port as usize)),
        }
    }
}
