//! Types of plans and records for transactions: users who send requests to an application with
//! several tiers.

use serde::{Deserialize, Serialize};

use crate::{Roles, Service, spans};

/// A workload in which users submit operations to an application server, which queries a database.
/// Its phases have a fixed duration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transactions {
    /// The hosts of the load generators, the application server, and the database.
    pub roles: TierRoles,
    /// The application.
    pub application: Application,
    /// The operations, and the share of each.
    pub mix: Vec<Operation>,
    /// The load: closed with users, or open with a rate.
    pub load: Load,
    /// Time between two rows of statistics of a generator.
    #[serde(deserialize_with = "spans::ns")]
    pub statistics_every_ns: u64,
    /// What a page element costs in the simulator. Real testbeds do not use these costs.
    #[serde(default)]
    pub costs: Option<Costs>,
}

impl Transactions {
    /// Number of users of the generator with the index `client`. If the users cannot be divided
    /// evenly, the first generators have one user more.
    #[must_use]
    pub fn users_of(&self, client: usize) -> u32 {
        let (all, clients) = (self.load.users(), self.roles.client.len() as u32);
        all / clients + u32::from((client as u32) < all % clients)
    }

    /// How many generators have users. These are the first ones in the list.
    #[must_use]
    pub fn busy_clients(&self) -> usize {
        self.roles.client.len().min(self.load.users() as usize)
    }
}

/// The tiers of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierRoles {
    /// Load generators, which share the users.
    pub client: Vec<String>,
    /// The host of the application server: exactly one.
    pub server: Vec<String>,
    /// The host of the database: exactly one, or none if the application has no separate database.
    #[serde(default)]
    pub database: Vec<String>,
}

impl TierRoles {
    /// The roles in the traffic that users cause: generators are clients of the application server.
    #[must_use]
    pub fn front(&self) -> Roles {
        Roles { client: self.client.clone(), server: self.server.clone() }
    }
}

/// An application that users submit to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Application {
    /// The brokerage of this engine.
    Brokerage {
        /// Name of the variant, for people; none: the brokerage has its usual settings.
        variant: Option<String>,
        /// Threads of the application server; none: as many as CPUs.
        threads: Option<u32>,
        /// Connections to the database.
        pool_connections: u32,
        /// How many page elements a page has in addition to the page itself.
        page_images: u32,
        /// The database.
        database: Database,
        /// Where the database keeps its tables.
        data: Medium,
        /// Registered users.
        users: u32,
        /// Quoted stocks.
        quotes: u32,
        /// A database server that already exists and has the data; none: the run starts a database
        /// server.
        #[serde(default)]
        existing: Option<ExistingDatabase>,
    },
    /// Any program that answers HTTP.
    Program {
        /// Its arguments, the program first.
        start: Vec<String>,
        /// Port that it listens on, at the address of its host.
        port: u16,
        /// An HTTP path to which the program responds once it is ready.
        ready_path: String,
    },
}

/// A PostgreSQL server that already runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExistingDatabase {
    /// An address, or the folder of its Unix socket.
    pub host: String,
    /// The server's port, which is also part of the Unix socket's name.
    pub port: u16,
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
    /// Where the role's password is; none: the server asks for none.
    #[serde(default)]
    pub password: Option<PasswordSource>,
}

/// Where the password of a role is. Plans and records contain this place, never the password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasswordSource {
    /// An environment variable.
    pub env: Option<String>,
    /// A password file of libpq.
    pub pgpass: Option<String>,
}

/// Databases of the brokerage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Database {
    /// A server on the database's host.
    Postgresql,
    /// A file on the application's host.
    Sqlite,
}

/// Where a database keeps its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// On a RAM disk.
    Ram,
    /// On a disk.
    Disk,
}

/// An operation of a mix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// The operation's name.
    pub name: String,
    /// The operation's share of all operations, in millionths. All shares add up to a million.
    pub share_ppm: u32,
    /// Mean number of page elements of one operation, in millionths.
    pub elements_ppm: u64,
    /// The requests of this operation; empty for the brokerage, whose requests the load generator
    /// knows.
    #[serde(default)]
    pub requests: Vec<HttpRequest>,
}

/// An HTTP request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    /// Its method.
    pub method: HttpMethod,
    /// Path and query.
    pub path: String,
    /// Its body, if it has one.
    #[serde(default)]
    pub body: Option<String>,
    /// Media type of the body.
    #[serde(default)]
    pub content_type: Option<String>,
}

/// HTTP methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// Reads.
    Get,
    /// Submits.
    Post,
}

/// The load on the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Load {
    /// Users who submit, wait for the answer, think, and submit again.
    Closed {
        /// All users together; generators share them.
        users: u32,
        /// Time from an answer to the next submission.
        #[serde(deserialize_with = "spans::ns")]
        think_ns: u64,
        /// How the think time varies.
        think: Service,
    },
    /// Submissions at a rate, whether or not earlier ones are answered.
    Open {
        /// Mean time between two submissions of all generators together, in picoseconds.
        interval_ps: u64,
        /// The arrival process.
        arrivals: Arrivals,
        /// Maximum number of submissions in progress, all generators together; further submissions
        /// count as not met.
        users: u32,
    },
}

impl Load {
    /// Maximum number of submissions in progress, all generators together.
    #[must_use]
    pub const fn users(&self) -> u32 {
        match *self {
            Self::Closed { users, .. } | Self::Open { users, .. } => users,
        }
    }
}

/// Arrival processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Arrivals independent of each other.
    Poisson,
    /// Arrivals at equal distances.
    Uniform,
}

/// What a page element costs in the simulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Profile that the values come from.
    pub profile: String,
    /// Bytes of a request for a page element.
    pub request_bytes: u64,
    /// Bytes of its answer.
    pub response_bytes: u64,
    /// CPU time of an application server that has only one CPU.
    #[serde(deserialize_with = "spans::ns")]
    pub app_cpu_ns: u64,
    /// By what fraction `app_cpu_ns` increases with each further CPU, in millionths.
    pub app_cpu_growth_ppm: u32,
    /// Number of requests to the database, one after the other.
    pub database_calls: u32,
    /// Bytes of a request to the database.
    pub database_request_bytes: u64,
    /// Bytes of its answer.
    pub database_response_bytes: u64,
    /// CPU time of the database for all requests of one page element together.
    #[serde(deserialize_with = "spans::ns")]
    pub database_cpu_ns: u64,
    /// Additional CPU time of the database if it uses a disk.
    #[serde(default, deserialize_with = "spans::ns")]
    pub database_disk_cpu_ns: u64,
    /// CPU time of work that the database does only once for all requests that are in slots at the
    /// same time.
    #[serde(default, deserialize_with = "spans::ns")]
    pub database_shared_cpu_ns: u64,
    /// Additional time for which requests keep their slot without using a CPU, for example while
    /// they wait for logs.
    #[serde(deserialize_with = "spans::ns")]
    pub database_hold_ns: u64,
    /// How long requests wait, in their slot, for locks of other requests when all other slots are
    /// in use. If fewer slots are in use, the wait is proportionally shorter.
    #[serde(default, deserialize_with = "spans::ns")]
    pub database_contention_ns: u64,
    /// Time that requests wait in their slot for a buffer of the database's interface when its queue holds
    /// 1000 frames. The wait is in inverse proportion to the length of that queue.
    #[serde(default, deserialize_with = "spans::ns")]
    pub database_buffer_wait_ns: u64,
    /// Maximum number of requests that the database processes at a time.
    pub database_slots: u32,
    /// Disk time of the database for all requests of one page element together.
    #[serde(deserialize_with = "spans::ns")]
    pub database_disk_ns: u64,
    /// Delay during which no tier does any work.
    #[serde(deserialize_with = "spans::ns")]
    pub delay_ns: u64,
    /// Distribution of the time that a piece of work takes.
    pub service: Service,
    /// Maximum number of page elements that the application server processes at a time; none: no
    /// limit.
    pub threads: Option<u32>,
    /// Connections of the application server to the database.
    pub pool_connections: u32,
}

/// Operations of one generator in the measuring phase, with one row per operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionSamples {
    /// The generator.
    pub client: Vec<String>,
    /// The operation.
    pub operation: Vec<String>,
    /// Submissions that were due in the phase or in progress when it began: the sum of completed,
    /// network errors, server errors, not met and unfinished.
    pub offered: Vec<u64>,
    /// Submissions in progress when the phase began.
    #[serde(default)]
    pub carried: Vec<u64>,
    /// Submissions not started because too many were in progress.
    pub not_met: Vec<u64>,
    /// Submissions that ended in the phase without an error.
    pub completed: Vec<u64>,
    /// Submissions in progress when the phase ended.
    pub unfinished: Vec<u64>,
    /// HTTP responses with a success status.
    pub page_elements: Vec<u64>,
    /// Submissions that failed because of their connection: refused, reset or timed out.
    pub network_errors: Vec<u64>,
    /// Submissions that the application rejected or failed to process: status 4xx or 5xx, or an
    /// unexpected page.
    pub server_errors: Vec<u64>,
    /// Bytes read, headers included.
    pub bytes_read: Vec<u64>,
    /// Bytes written, headers included.
    pub bytes_written: Vec<u64>,
}

/// Errors of one generator in the measuring phase, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionErrors {
    /// The generator.
    pub client: Vec<String>,
    /// The operation.
    pub operation: Vec<String>,
    /// `503`, `connection reset`, `timed out` and the like.
    pub reason: Vec<String>,
    /// Number of these errors.
    pub count: Vec<u64>,
}

/// Statistics of a generator at intervals, counted from the start of the measuring phase. The last
/// row of a generator covers the whole phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsSamples {
    /// The generator.
    pub client: Vec<String>,
    /// Time since the phase began.
    pub at_ns: Vec<u64>,
    /// Users of the generator.
    pub users: Vec<u64>,
    /// HTTP responses with a success status.
    pub page_elements: Vec<u64>,
    /// Operations that ended without an error.
    pub transactions: Vec<u64>,
    /// Submissions that failed because of their connection.
    pub network_errors: Vec<u64>,
    /// Submissions that the application rejected or failed to process.
    pub server_errors: Vec<u64>,
    /// Bytes read, headers included.
    pub bytes_read: Vec<u64>,
    /// Bytes written, headers included.
    pub bytes_written: Vec<u64>,
    /// Sum of the response times of all page elements.
    pub response_sum_ns: Vec<u64>,
    /// Submissions that were due but not started.
    pub not_met: Vec<u64>,
    /// Users who wait for an answer and have had none since the phase began.
    pub starved_users: Vec<u64>,
}
