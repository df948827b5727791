//! Users of an application over HTTP/1.1, on the kernel's TCP: a generator of load.
//!
//! One thread drives all users ([`client`]): `netstudy_workload::transactions` decides who sends which request and
//! when, [`pages`] writes it as HTTP, [`parser`] reads the answers, and [`books`] records them.

mod books;
mod client;
mod cookies;
mod link;
mod pages;
mod parser;
pub(crate) mod task;

pub(crate) use client::run;
