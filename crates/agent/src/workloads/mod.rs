//! The agent's roles in workloads, one file per workload. The rest of this crate has no code for
//! particular workloads: it uses the traits in [`role`] and [`recording`].

mod ftp;
mod incast;
mod observer;
pub(crate) mod recording;
mod request;
pub(crate) mod role;
mod transaction;
mod transfer;

use netstudy_records::AgentWorkload;
use netstudy_units::Duration;

use crate::application::phases;
use role::Role;

/// The role that a plan asks for. This function lists all roles.
pub(crate) fn of(workload: &AgentWorkload) -> Box<dyn Role + '_> {
    // There is no default arm, so that the compiler rejects a new kind of workload until it has a
    // role here.
    match workload {
        AgentWorkload::IncastServer {
            request_bytes,
            response_bytes,
            start_jitter,
            number,
            seed,
        } => Box::new(incast::Server {
            request_bytes: *request_bytes,
            response_bytes: *response_bytes,
            start_jitter,
            number: *number,
            seed,
        }),
        AgentWorkload::IncastClient {
            request_bytes,
            response_bytes,
            iterations,
            warmup_iterations,
            request_spacing_ns,
        } => Box::new(incast::Client {
            request_bytes: *request_bytes,
            response_bytes,
            iterations: *iterations,
            warmup_iterations: *warmup_iterations,
            request_spacing: Duration::from_ns(*request_spacing_ns),
        }),
        &AgentWorkload::TransferServer { direction, size, request_bytes } => {
            Box::new(transfer::Server { shape: transfer::shape(direction, size, request_bytes) })
        }
        AgentWorkload::TransferClient {
            direction,
            size,
            request_bytes,
            pause_ns,
            starts_ns,
            warmup,
            measure,
        } => Box::new(transfer::Client {
            shape: transfer::shape(*direction, *size, *request_bytes),
            pause: Duration::from_ns(*pause_ns),
            starts_ns,
            phases: phases(*warmup, *measure),
        }),
        AgentWorkload::FtpServer { direction, size_bytes, store, data_path, login, verify } => {
            Box::new(ftp::Server {
                file: ftp::file(*direction, *size_bytes, store, login.as_ref(), *verify),
                data_path: *data_path,
            })
        }
        AgentWorkload::FtpClient {
            direction,
            size_bytes,
            path,
            store,
            data_path,
            login,
            verify,
            pause_ns,
            warmup,
            measure,
        } => Box::new(ftp::Client {
            file: ftp::file(*direction, *size_bytes, store, login.as_ref(), *verify),
            data_path: *data_path,
            path,
            pause_ns: *pause_ns,
            warmup: *warmup,
            measure: *measure,
        }),
        &AgentWorkload::RequestServer { request_bytes, response_bytes, writes } => {
            let shape = request::shape(request_bytes, response_bytes);
            Box::new(request::Server { shape, writes })
        }
        &AgentWorkload::RequestClient {
            request_bytes,
            response_bytes,
            schedule,
            warmup,
            measure,
        } => Box::new(request::Client {
            shape: request::shape(request_bytes, response_bytes),
            schedule: request::schedule(schedule),
            phases: phases(warmup, measure),
        }),
        AgentWorkload::TransactionClient(client) => Box::new(transaction::Client(client)),
        AgentWorkload::Observer => Box::new(observer::Observer),
    }
}
