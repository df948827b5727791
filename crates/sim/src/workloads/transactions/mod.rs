//! Users, an application server and its database. [`client`] generates the load of the users.
//! [`server`] and [`database`] do the work; requests reach them over simulated connections.
//! [`recorder`] keeps the samples.

mod client;
mod database;
mod pending;
mod recorder;
mod server;

use std::cell::RefCell;
use std::rc::Rc;

use netstudy_random::Stream;
use netstudy_records as records;
use netstudy_records::{Application, Check, Costs, Roles, Samples, Transactions, UnitKind};
use netstudy_units::{Duration, Time};
use netstudy_workload::transactions::{
    DeckConfig, Generator, GeneratorConfig, Load, OperationConfig, Script,
};
use netstudy_workload::{Action, Traffic, Wait};

use super::{Applications, Stage, Workload, phases};
use crate::account::Job;
use crate::applications::Cast;
use crate::host::permits::PermitKind;
use crate::host::stations::Shared;
use crate::measure::outcome::{Outcome, Sampled};
use crate::wiring::Wiring;
use client::{Client, TracedUsers};
use database::{Database, DatabaseWork, RequestCosts};
use pending::{Times, Traced};
use recorder::Recorder;
use server::{Backend, ElementCosts, Server};

const MILLION: u64 = 1_000_000;
/// The wait for a buffer, as the plan gives it, is for a transmit queue of this number of frames.
const USUAL_FRAMES: u64 = 1_000;

impl Workload for Transactions {
    /// First the connections of users, generator by generator, then those of the server to its
    /// database. A generator without users has no connections.
    fn cast(&self) -> Result<Cast, String> {
        let [clients, users] = [self.roles.client.len(), self.load.users() as usize];
        if clients == 0 || self.roles.server.len() != 1 || self.roles.database.len() > 1 {
            return Err(
                "transactions need a generator, one server, and at most one database".to_owned()
            );
        }
        if users == 0 {
            return Err("transactions need at least one user".to_owned());
        }
        // The role without its interface, because the host may use another interface for the
        // database.
        let server = self.roles.server[0].split('@').next().unwrap_or_default().to_owned();
        let behind = std::iter::once(server).chain(self.roles.database.iter().cloned());
        let roles = Roles { client: self.roles.client.clone(), server: behind.collect() };
        let of_users = (0..clients)
            .flat_map(|client| (0..self.users_of(client)).map(move |_| [client, clients]));
        let cast = Cast::new(&roles, of_users.collect(), [true, true]);
        let pool = self.costs.as_ref().map_or(0, |costs| costs.pool_connections);
        let inner = self.roles.database.iter().flat_map(|_| 0..pool);
        Ok(cast.with_inner(inner.map(|_| [clients, clients + 1]).collect()))
    }

    fn unit(&self) -> UnitKind {
        UnitKind::Transaction
    }

    fn packets_per_sample(&self, _run: &records::Run) -> u64 {
        0
    }

    fn samples_seconds(&self) -> bool {
        false
    }

    fn has_application(&self) -> bool {
        true
    }

    fn works_at(&self, host: &str) -> bool {
        let named = self.roles.server.iter().chain(&self.roles.database);
        named.map(|role| role.split('@').next()).any(|name| name == Some(host))
    }

    /// Adds nothing, because the recorders of the generators add the tables: see
    /// [`Applications::perform`].
    fn add_samples(&self, _sampled: &Sampled, _tables: &mut Samples) {}
}

impl Applications for Transactions {
    fn perform<S: Stage>(
        &self,
        run: &records::Run,
        cast: &Cast,
        wiring: &Wiring,
        stage: S,
    ) -> Result<S::Done, String> {
        let costs = self.costs.as_ref().ok_or("the plan has no costs of a page element")?;
        check(costs)?;
        let tiers = Tiers { work: self, costs, run, wiring };
        let made = (0..self.busy_clients()).map(|client| tiers.client(client));
        let (mut hosts, recorders): (Vec<_>, Vec<_>) =
            made.collect::<Result<Vec<_>, String>>()?.into_iter().unzip();
        // If there are more clients than users, the remaining clients have no user.
        hosts.resize_with(self.roles.client.len(), || Box::new(Idle));
        let server = hosts.len();
        hosts.push(tiers.server(server, cast.connections.len())?);
        if !self.roles.database.is_empty() {
            let frames = wiring.frames_that_wait(cast.connections.len());
            let jobs = wiring.trace.jobs(costs.pool_connections as usize);
            let work = tiers.database(hosts.len(), jobs, frames)?;
            let [request, response] = [costs.database_request_bytes, costs.database_response_bytes];
            hosts.push(Box::new(Database::new(work, request, response)));
        }
        stage.perform_and(hosts, |outcome, tables, checks| {
            for recorder in &recorders {
                recorder.borrow_mut().add_to(tables, wiring.name_of(server));
            }
            checks.extend(laws(self, outcome, &recorders));
        })
    }
}

fn laws(work: &Transactions, outcome: &Outcome, recorders: &[SharedRecorder]) -> Vec<Check> {
    let borrowed: Vec<_> = recorders.iter().map(|one| one.borrow()).collect();
    let all: Vec<&Recorder> = borrowed.iter().map(|one| &**one).collect();
    let mut laws = vec![recorder::nothing_vanished(&all)];
    if let records::Load::Closed { think_ns, .. } = work.load {
        let think = Duration::from_ns(think_ns);
        laws.push(recorder::users_are_somewhere(&all, outcome.took(), think));
    }
    laws
}

/// A host without a user.
struct Idle;

impl Traffic for Idle {
    fn next_action(&self) -> Time {
        Time::NEVER
    }

    fn poll(&mut self, _now: Time) -> Option<Action> {
        None
    }

    fn received(&mut self, _now: Time, _connection: u32, _before: u64, _total: u64) -> bool {
        false
    }
}

/// What is needed to create the applications of users, server and database.
struct Tiers<'a> {
    work: &'a Transactions,
    costs: &'a Costs,
    run: &'a records::Run,
    wiring: &'a Wiring,
}

type Host = Box<dyn netstudy_workload::Application>;
type SharedRecorder = Rc<RefCell<Recorder>>;

impl Tiers<'_> {
    fn client(&self, client: usize) -> Result<(Host, SharedRecorder), String> {
        let config = self.generator(client)?;
        config.check()?;
        let name = self.wiring.name_of(client);
        let generator = Generator::new(config, Stream::of_generator(&self.run.seed, name));
        let names = generator.names().map(str::to_owned).collect();
        let recorder = Recorder::new(name.to_owned(), generator.users(), names);
        let recorder = Rc::new(RefCell::new(recorder));
        let [request, response] = [self.costs.request_bytes, self.costs.response_bytes];
        let users_before = (0..client).map(|before| self.work.users_of(before) as usize);
        let traced = TracedUsers {
            trace: self.wiring.trace.clone(),
            jobs: self.wiring.trace.jobs(generator.users() as usize),
            first_connection: users_before.sum(),
            wait: match self.work.load {
                records::Load::Closed { .. } => Wait::Think,
                records::Load::Open { .. } => Wait::Schedule,
            },
        };
        let client = Client::new(generator, request, response, Rc::clone(&recorder), traced);
        Ok((Box::new(client), recorder))
    }

    /// The configuration of one generator, with its share of the load.
    fn generator(&self, client: usize) -> Result<GeneratorConfig, String> {
        let Self { work, run, .. } = *self;
        let (users, clients) = (work.users_of(client), work.busy_clients() as u64);
        let load = match work.load {
            records::Load::Closed { think_ns, think, .. } => Load::Closed {
                users,
                think: Duration::from_ns(think_ns),
                varies: think == records::Service::Exponential,
            },
            records::Load::Open { interval_ps, arrivals, .. } => Load::Open {
                interval: Duration::from_ps(interval_ps * clients),
                varies: arrivals == records::Arrivals::Poisson,
                offset: Duration::from_ps(interval_ps * client as u64),
                users,
            },
        };
        let (registered, quotes, page_images) = match &work.application {
            Application::Brokerage { users, quotes, page_images, .. } => {
                (*users, *quotes, *page_images)
            }
            Application::Program { .. } => (0, 0, 0),
        };
        // Registered users are divided among the generators in turn, so each of them belongs to
        // only one generator.
        let step = clients as u32;
        let deck = DeckConfig {
            first: client as u32,
            step,
            users: (registered + step - 1 - client as u32) / step,
        };
        Ok(GeneratorConfig {
            operations: work.mix.iter().map(operation).collect::<Result<_, _>>()?,
            load,
            deck,
            quotes,
            page_images,
            statistics_every: Duration::from_ns(work.statistics_every_ns),
            phases: phases(run, &work.roles.front())?,
        })
    }

    fn server(&self, member: usize, users: usize) -> Result<Host, String> {
        let costs = self.costs;
        let stations = self.stations(member)?;
        // Models contention between CPUs: each additional CPU increases the cost of an element by
        // the same share.
        let further = u64::from(stations.borrow().cpus().unwrap_or(1) - 1);
        let growth = MILLION + u64::from(costs.app_cpu_growth_ppm) * further;
        let cpu = u128::from(costs.app_cpu_ns) * u128::from(growth) / u128::from(MILLION);
        let element = ElementCosts {
            request_bytes: costs.request_bytes,
            response_bytes: costs.response_bytes,
            cpu: Duration::from_ns(cpu as u64),
            calls: costs.database_calls,
            call_request_bytes: costs.database_request_bytes,
            call_response_bytes: costs.database_response_bytes,
            delay: Duration::from_ns(costs.delay_ns),
        };
        let jobs = self.wiring.trace.jobs(users);
        let backend = if self.work.roles.database.is_empty() {
            Backend::Here(self.database(member, jobs.clone(), None)?)
        } else {
            let pool = costs.pool_connections;
            let free = (0..pool).rev().map(|number| users as u32 + number).collect();
            let permits = stations.borrow_mut().add_permits(PermitKind::PoolConnection, pool);
            Backend::There { free, users: vec![0; pool as usize], pool: permits }
        };
        let times = self.times(member, "elements");
        let threads =
            costs.threads.map(|count| stations.borrow_mut().add_permits(PermitKind::Thread, count));
        let traced = self.traced(member, jobs);
        Ok(Box::new(Server::new(element, stations, times, threads, backend, traced)))
    }

    /// An application in the trace, at the host of a member.
    fn traced(&self, member: usize, jobs: Vec<Job>) -> Traced {
        Traced { trace: self.wiring.trace.clone(), host: self.wiring.node_of(member), jobs }
    }

    /// A database at the host of a member. `jobs`: one for each client. `frames`: length of the
    /// transmit queue of the interface that sends the answers; none if no interface does.
    fn database(
        &self,
        member: usize,
        jobs: Vec<Job>,
        frames: Option<usize>,
    ) -> Result<DatabaseWork, String> {
        let costs = self.costs;
        let part = |ns: u64| Duration::from_ns(ns).div(u64::from(costs.database_calls.max(1)));
        let buffer_wait = frames.map_or(Duration::ZERO, |frames| {
            (part(costs.database_buffer_wait_ns) * USUAL_FRAMES).div(frames.max(1) as u64)
        });
        let each = RequestCosts {
            cpu: part(costs.database_cpu_ns + costs.database_disk_cpu_ns),
            shared_cpu: part(costs.database_shared_cpu_ns),
            disk: part(costs.database_disk_ns),
            hold: part(costs.database_hold_ns) + buffer_wait,
            contention: part(costs.database_contention_ns),
        };
        let times = self.times(member, "database");
        let stations = self.stations(member)?;
        let traced = self.traced(member, jobs);
        Ok(DatabaseWork::new(each, stations, times, costs.database_slots, traced))
    }

    /// The distribution of service times at the host of a member; `purpose` is the kind of work.
    fn times(&self, member: usize, purpose: &str) -> Times {
        let name = format!("{}/{purpose}", self.wiring.name_of(member));
        Times::new(self.costs.service, Stream::new(&self.run.seed, &name))
    }

    fn stations(&self, member: usize) -> Result<Shared, String> {
        let found = self.wiring.stations_of(member).cloned();
        found.ok_or_else(|| format!("{} has no CPU", self.wiring.name_of(member)))
    }
}

/// Checks that sizes and numbers in the costs are not 0.
fn check(costs: &Costs) -> Result<(), String> {
    let Costs { request_bytes, response_bytes, .. } = costs;
    let sizes = [request_bytes, response_bytes];
    let inner = [&costs.database_request_bytes, &costs.database_response_bytes];
    if sizes.into_iter().chain(inner).any(|&bytes| bytes == 0) {
        return Err("a message needs at least one byte".to_owned());
    }
    if costs.database_slots == 0 || costs.pool_connections == 0 || costs.threads == Some(0) {
        return Err(
            "threads, database connections and database slots must be at least 1".to_owned()
        );
    }
    Ok(())
}

fn operation(one: &records::Operation) -> Result<OperationConfig, String> {
    let script = if one.requests.is_empty() {
        Script::of_brokerage(&one.name)
            .ok_or_else(|| format!("the brokerage has no operation {:?}", one.name))?
    } else {
        Script::Plain { requests: one.requests.len() as u32 }
    };
    Ok(OperationConfig { name: one.name.clone(), share_ppm: one.share_ppm, script })
}
