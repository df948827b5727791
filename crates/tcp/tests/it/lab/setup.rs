//! The template of a lab.

use netstudy_tcp::{
    Bic, Config, Congestion, Cubic, Endpoint, OffloadRule, Recovery, Reno, RtoRule,
};
use netstudy_units::{Duration, Rate};

use super::laws::Laws;
use super::path::Path;
use super::{Lab, ms};

/// A lab to be: both ends and the path between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    client: Config,
    server: Config,
    delay: Duration,
    rate: Option<Rate>,
}

/// Numbers that make sums whole: segments of 1000 bytes, a round trip of 10 ms, a path without a
/// limit, a window of ten segments to begin with. SACK is on, all refinements are off.
pub(crate) const fn lab() -> Setup {
    Setup { client: TEMPLATE, server: TEMPLATE, delay: ms(5), rate: None }
}

/// The same numbers under the TCP of Linux 2.6.18: BIC, forward acknowledgment with rate halving,
/// bursts of segmentation offload. The timeout rule stays, so that times stay whole.
pub(crate) fn linux() -> Setup {
    lab().both(|c| {
        c.congestion = Congestion::Bic(Bic::default());
        c.recovery = Recovery::Fack;
        c.offload_bytes = 65_536;
    })
}

/// The same numbers under the TCP of Linux 6: CUBIC, proportional rate reduction, RACK and tail loss
/// probes. The timeout rule stays, so that times stay whole.
pub(crate) fn linux6() -> Setup {
    lab().both(|c| {
        c.congestion = Congestion::Cubic(Cubic::new(true));
        c.recovery = Recovery::Prr { rack: true, tail_loss_probe: true };
    })
}

const TEMPLATE: Config = Config {
    recovery: Recovery::Rfc,
    offload_bytes: 0,
    offload_rule: OffloadRule::Deferral,
    offload_request_bytes: 0,
    marks_packets: false,
    limit_output_bytes: 0,
    rto_rule: RtoRule::Rfc6298,
    mtu_bytes: 1040,
    congestion: Congestion::Reno(Reno::new(false)),
    sack: true,
    ecn: false,
    timestamps: false,
    initial_window_segments: Some(10),
    initial_rto: Duration::from_secs(1),
    min_rto: ms(200),
    max_rto: Duration::from_secs(60),
    clock_tick: Duration::ZERO,
    clock_phase: Duration::ZERO,
    delayed_ack: ms(40),
    ack_every_segments: 2,
    quick_ack_segments: 0,
    quick_ack_disorder: false,
    ack_pushed: false,
    nodelay: true,
    restart_after_idle: false,
    send_buffer_bytes: 1_000_000_000,
    receive_buffer_bytes: 1_000_000,
};

impl Setup {
    /// Changes both ends.
    pub(crate) fn both(mut self, change: impl Fn(&mut Config)) -> Self {
        change(&mut self.client);
        change(&mut self.server);
        self
    }

    pub(crate) fn client(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.client);
        self
    }

    pub(crate) fn server(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.server);
        self
    }

    /// The propagation delay each way.
    pub(crate) const fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The rate of IP bytes each way.
    pub(crate) const fn rate(mut self, rate: Rate) -> Self {
        self.rate = Some(rate);
        self
    }

    pub(crate) const fn client_config(&self) -> Config {
        self.client
    }

    /// The lab before the first segment.
    pub(crate) fn unopened(self) -> Lab {
        let path = || Path::new(self.delay, self.rate);
        let ends = [Endpoint::connect(self.client), Endpoint::listen(self.server)];
        let laws = Laws::new([self.client.mtu_bytes, self.server.mtu_bytes]);
        Lab::new(ends, [path(), path()], laws)
    }

    /// The connection is open, and its clock and numbers start.
    pub(crate) fn open(self) -> Lab {
        let mut lab = self.unopened();
        lab.open();
        lab
    }
}
