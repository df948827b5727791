//! A load generator: users of an application over HTTP/1.1, on the kernel's TCP.
//!
//! One thread drives all users ([`client`]): `netstudy_workload::transactions` decides which user sends
//! which request and when, [`pages`] writes the request as HTTP, [`parser`] reads the response, and
//! [`books`] records it.

mod books;
mod client;
mod cookies;
mod link;
mod pages;
mod parser;
pub(crate) mod task;

pub(crate) use client::run;
