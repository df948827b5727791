//! The conversations whose outcome does not depend on the recovery, under the TCP of Linux 2.6.18: the
//! same files as in `conversations.rs`, only the template of the lab differs. `linux` and
//! `requests` only test that TCP.

mod lab {
    pub(crate) use crate::lab::*;

    pub(crate) fn lab() -> Setup {
        crate::lab::linux()
    }
}

#[path = "conversations/acknowledgments.rs"]
mod acknowledgments;
#[path = "conversations/before_rack.rs"]
mod before_rack;
#[path = "conversations/closing.rs"]
mod closing;
#[path = "conversations/handshake.rs"]
mod handshake;
#[path = "conversations/linux.rs"]
mod linux;
#[path = "conversations/loss.rs"]
mod loss;
#[path = "conversations/requests.rs"]
mod requests;
#[path = "conversations/timeout.rs"]
mod timeout;
#[path = "conversations/traffic.rs"]
mod traffic;
#[path = "conversations/window.rs"]
mod window;
