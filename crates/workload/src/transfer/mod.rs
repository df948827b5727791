//! Plain TCP transfers: a client gets bytes from servers, puts bytes to them, or both at once.
//!
//! A transfer of a fixed size is an exchange of messages on a connection. Get: a request, answered
//! with the payload. Put: the payload, confirmed by the server's application when it has received
//! all of it, as in FTP. Both: a request followed at once by the payload; the server starts to send
//! its own payload when it has the request, and confirms the client's payload. Each end knows from
//! its own byte counts how far the exchanges have come.
//!
//! A stream has no size: each sender writes until the client ends it. It is asked for once and
//! confirmed once, whatever it carries, so that the opposite direction cannot limit it. Get: a
//! request; the server writes until a second request, which it answers with a last message. Put:
//! the payload and a last message, which the server confirms. Both: a request followed by the
//! payload and a last message; the server writes from the request on, and its own last message
//! confirms the client's. The length of a stream is known only when its sender ends it; the driver
//! carries it to the receiver ([`Traffic::ends_at`](crate::Traffic::ends_at)).

mod client;
mod server;
mod shape;

pub use client::TransferClient;
pub use server::TransferServer;
pub use shape::{Direction, TransferConfig, TransferShape, TransferSize};
