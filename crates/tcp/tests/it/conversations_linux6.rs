//! The conversations whose outcome does not depend on the recovery, under the TCP of Linux 6: the same
//! files as in `conversations.rs`, only the template of the lab differs. `linux6` only tests that TCP.

mod lab {
    use netstudy_tcp::{Congestion, Recovery, Reno};

    pub(crate) use crate::lab::*;

    pub(crate) fn lab() -> Setup {
        crate::lab::linux6().both(|c| {
            c.congestion = Congestion::Reno(Reno::new(false));
            c.recovery = Recovery::Prr { rack: true, tail_loss_probe: false };
        })
    }
}

#[path = "conversations/acknowledgments.rs"]
mod acknowledgments;
#[path = "conversations/closing.rs"]
mod closing;
#[path = "conversations/handshake.rs"]
mod handshake;
#[path = "conversations/linux6.rs"]
mod linux6;
#[path = "conversations/loss.rs"]
mod loss;
#[path = "conversations/small_queue.rs"]
mod small_queue;
#[path = "conversations/timeout.rs"]
mod timeout;
#[path = "conversations/traffic.rs"]
mod traffic;
#[path = "conversations/window.rs"]
mod window;
