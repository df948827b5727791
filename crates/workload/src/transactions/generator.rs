//! The load generator: runs a closed or an open loop of clients through the phases of a run.

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use netstudy_units::{Duration, Time};

use super::counts::{Counts, Statistics};
use super::deck::{Deck, DeckConfig};
use super::failure::Failure;
use super::script::{
    BUY_INSTEAD, Brokerage, Load, OperationConfig, Request, Script, Step, Symbols,
};
use super::{Random, Streams};
use crate::phases::{Limit, Next, Phases, Sequence, Turn, Until};

/// Sum of all shares.
const WHOLE_PPM: u32 = 1_000_000;
/// Maximum users of one generator.
const USERS_MAX: u32 = 1_000_000;
/// Maximum number of stock shares in one purchase.
const QUANTITY_MAX: u32 = 200;
/// Minimum time before a user of a closed loop submits again after a failed connection, so that the
/// generator does not flood an application that is down.
const PAUSE_AFTER_BREAK: Duration = Duration::from_ms(100);

/// Configuration of a load generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorConfig {
    /// The mix of operations. Clients of the brokerage log in first.
    pub operations: Vec<OperationConfig>,
    /// The load: closed or open loop.
    pub load: Load,
    /// Registered users of the brokerage.
    pub deck: DeckConfig,
    /// Quoted stocks of the brokerage.
    pub quotes: u32,
    /// Page elements of a brokerage page in addition to the page itself.
    pub page_images: u32,
    /// Time between two rows of statistics in the measuring phase.
    pub statistics_every: Duration,
    /// Durations of warm-up and measuring phase.
    pub phases: Phases,
}

impl GeneratorConfig {
    /// Checks the limits of the configuration.
    ///
    /// # Errors
    /// Says which limit is violated.
    pub fn check(&self) -> Result<(), &'static str> {
        self.check_phases()?;
        self.check_mix()?;
        let users = self.load.users();
        if users == 0 {
            return Err("a generator has at least one user");
        }
        if users > USERS_MAX {
            return Err("a generator has at most a million users");
        }
        if let Load::Open { interval: Duration::ZERO, .. } = self.load {
            return Err("an open loop has an interval above zero");
        }
        if self.is_brokerage() && (self.deck.users < users || self.deck.step == 0) {
            return Err("there are at least as many registered users as clients");
        }
        if self.is_brokerage() && self.quotes == 0 {
            return Err("the brokerage quotes at least one stock");
        }
        Ok(())
    }

    fn check_phases(&self) -> Result<(), &'static str> {
        self.phases.check()?;
        if matches!(self.phases.warmup, Until::Count(1..)) {
            return Err("the warm-up of a generator has a time, not a count");
        }
        if !matches!(self.phases.measure, Until::Time(time) if time > Duration::ZERO) {
            return Err("the measuring phase of a generator has a time, not a count");
        }
        if self.statistics_every == Duration::ZERO {
            return Err("the interval of statistics is above zero");
        }
        Ok(())
    }

    fn check_mix(&self) -> Result<(), &'static str> {
        let shares = self.operations.iter().map(|operation| u64::from(operation.share_ppm));
        if shares.sum::<u64>() != u64::from(WHOLE_PPM) {
            return Err("the shares of a mix sum to a million");
        }
        if self.operations.iter().any(|operation| operation.script.requests() == 0) {
            return Err("an operation has at least one request");
        }
        let of_brokerage = |operation: &OperationConfig| is_brokerage(operation.script);
        if self.is_brokerage() != self.operations.iter().any(of_brokerage) {
            return Err(
                "a mix has either operations of the brokerage or listed requests, not both",
            );
        }
        Ok(())
    }

    /// Whether the mix consists of operations of the brokerage.
    fn is_brokerage(&self) -> bool {
        self.operations.iter().all(|operation| is_brokerage(operation.script))
    }
}

const fn is_brokerage(script: Script) -> bool {
    matches!(script, Script::Brokerage(_))
}

/// The next action of a generator. Samples cover only requests and transactions that ended in the
/// measuring phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionAction {
    /// Send a request; then call [`Generator::answered`] or [`Generator::failed`]. A client has one
    /// outstanding request at a time.
    Request {
        /// The client.
        client: u32,
        /// The request.
        request: Request,
    },
    /// A page element has arrived.
    Element {
        /// Number of the operation, in the order of [`Generator::names`].
        operation: u32,
        /// When the request of the page element was due.
        intended: Time,
        /// When the request was sent.
        sent: Time,
        /// When the first byte of the answer arrived.
        first_byte: Time,
        /// When the last byte of the answer arrived.
        ended: Time,
    },
    /// A transaction has ended without an error.
    Transaction {
        /// The client.
        client: u32,
        /// Number of its operation.
        operation: u32,
        /// When the transaction was due.
        intended: Time,
        /// When the first request of the transaction was sent.
        sent: Time,
        /// When the last answer of the transaction had arrived.
        ended: Time,
    },
    /// A transaction has failed.
    Failed {
        /// Number of its operation.
        operation: u32,
        /// The reason.
        why: Failure,
    },
    /// A row of statistics is due. The last row covers the whole phase; [`Self::Over`] follows it.
    Statistics(Statistics),
    /// The measuring phase has begun.
    Begin {
        /// Its start.
        at: Time,
    },
    /// The time of the measuring phase is over. Transactions in progress are completed without
    /// being counted; [`Self::End`] follows.
    Over {
        /// The end of the phase.
        at: Time,
    },
    /// The measuring phase has ended, and nothing is in flight any more.
    End,
    /// The warm-up continues until the time set by [`Generator::go`], when the measuring phase
    /// begins.
    Ready,
    /// The warm-up has ended, and nothing is in flight; the generator waits for [`Generator::go`].
    Hold,
}

/// A successful answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When the request was sent.
    pub sent: Time,
    /// When the first byte of the answer arrived.
    pub first_byte: Time,
    /// Bytes read, headers included.
    pub bytes_read: u64,
    /// Bytes written, headers included.
    pub bytes_written: u64,
    /// For a portfolio: the first holding in it.
    pub holding: Option<u64>,
}

/// A request that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The reason.
    pub why: Failure,
    /// Bytes read, headers included.
    pub bytes_read: u64,
    /// Bytes written, headers included.
    pub bytes_written: u64,
}

/// The remaining requests of a transaction in progress.
#[derive(Clone, Copy, Debug)]
enum Rest {
    /// These steps of the brokerage.
    Steps(&'static [Step]),
    /// The requests from number `next` on.
    Plain { next: u32, requests: u32 },
}

/// One client: it has a connection, at most one session, and at most one transaction in progress.
#[derive(Clone, Copy, Debug)]
struct Client {
    /// The registered user that the deck has dealt to the client.
    user: Option<u32>,
    is_logged_in: bool,
    is_busy: bool,
    /// True once the user has received an answer in the measuring phase.
    is_answered: bool,
    operation: u32,
    rest: Rest,
    /// The step that waits for its answer.
    step: Option<Step>,
    /// Number of images of the current page that have not been requested yet.
    images: u32,
    /// When the transaction was due.
    intended: Time,
    /// When the outstanding request was due.
    due: Time,
    /// When the first request of the transaction was sent.
    sent: Option<Time>,
    /// For a sale: the holding to sell. The field below, for a purchase: the stock to buy.
    holding: u64,
    symbol: u32,
}

impl Client {
    const NEW: Self = Self {
        user: None,
        is_logged_in: false,
        is_busy: false,
        is_answered: false,
        operation: 0,
        rest: Rest::Steps(&[]),
        step: None,
        images: 0,
        intended: Time::ZERO,
        due: Time::ZERO,
        sent: None,
        holding: 0,
        symbol: 0,
    };
}

/// Generates the load of one host. The driver calls [`Self::start`], reports how requests end, and
/// performs the actions of [`Self::poll`] whenever [`Self::next_action`] is due. Times must not
/// decrease.
#[derive(Clone, Debug)]
pub struct Generator<R> {
    config: GeneratorConfig,
    /// For each operation: the sum of the shares of all operations up to this one.
    shares: Vec<u32>,
    is_brokerage: bool,
    /// Numbers of the log-in, purchase and sale operations (this field and the next two).
    login: u32,
    buy: Option<u32>,
    sell: Option<u32>,
    streams: Streams<R>,
    deck: Deck,
    clients: Vec<Client>,
    /// Idle clients of an open loop. The last client of the list is used next, so that no more
    /// clients log in than are needed.
    free: Vec<u32>,
    /// Thinking clients of a closed loop, and when they submit.
    thinking: BinaryHeap<Reverse<(Time, u32)>>,
    /// When the next submission of an open loop is due.
    arrival: Time,
    under_way: u32,
    /// Number of sales that became purchases because the user had no holding, and for which no
    /// later purchase has become a sale yet.
    deficit: u64,
    updates: u64,
    purchases: u64,
    registrations: u64,
    sequence: Sequence,
    limit: Limit,
    is_measuring: bool,
    /// When the measuring phase began. The field below: when the next statistics are due.
    began: Time,
    statistics_due: Time,
    counts: Vec<Counts>,
    outbox: VecDeque<TransactionAction>,
    /// When the first action of the outbox was queued.
    since: Time,
}

impl<R: Random> Generator<R> {
    /// A generator that has not started. See [`GeneratorConfig::check`].
    #[must_use]
    pub fn new(mut config: GeneratorConfig, mut streams: Streams<R>) -> Self {
        let is_brokerage = config.is_brokerage();
        let numbered = |own: &[OperationConfig], script| {
            own.iter().position(|it| it.script == script).map(|at| at as u32)
        };
        let login = Script::Brokerage(Brokerage::Login);
        // Every session of the brokerage begins with a log-in. It is recorded even if the mix has
        // no log-in operation.
        if is_brokerage && numbered(&config.operations, login).is_none() {
            let name = "login".to_string();
            config.operations.push(OperationConfig { name, share_ppm: 0, script: login });
        }
        let mut sum = 0;
        let up_to = |operation: &OperationConfig| {
            sum += operation.share_ppm;
            sum
        };
        let users = config.load.users();
        Self {
            shares: config.operations.iter().map(up_to).collect(),
            is_brokerage,
            login: numbered(&config.operations, login).unwrap_or(0),
            buy: numbered(&config.operations, Script::Brokerage(Brokerage::Buy)),
            sell: numbered(&config.operations, Script::Brokerage(Brokerage::Sell)),
            deck: Deck::new(config.deck, &mut streams.deck),
            streams,
            clients: vec![Client::NEW; users as usize],
            free: Vec::new(),
            thinking: BinaryHeap::new(),
            arrival: Time::NEVER,
            under_way: 0,
            deficit: 0,
            updates: 0,
            purchases: 0,
            registrations: 0,
            sequence: Sequence::new(config.phases, 1),
            limit: Limit::NONE,
            is_measuring: false,
            began: Time::NEVER,
            statistics_due: Time::NEVER,
            counts: vec![Counts::default(); config.operations.len()],
            outbox: VecDeque::new(),
            since: Time::ZERO,
            config,
        }
    }

    /// Names of the operations in the order of their numbers: the operations of the mix, and the
    /// log-in of the brokerage.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.config.operations.iter().map(|operation| &*operation.name)
    }

    /// Counts of each operation in the measuring phase so far.
    #[must_use]
    pub fn counts(&self) -> &[Counts] {
        &self.counts
    }

    /// When the oldest transaction in progress was due; [`Time::NEVER`] if there is none.
    #[must_use]
    pub fn working_since(&self) -> Time {
        let busy = self.clients.iter().filter(|client| client.is_busy);
        busy.map(|client| client.intended).min().unwrap_or(Time::NEVER)
    }

    /// Number of clients: each has one connection.
    #[must_use]
    pub fn users(&self) -> u32 {
        self.config.load.users()
    }

    /// Begins the warm-up.
    pub fn start(&mut self, now: Time) {
        if let Some(limit) = self.sequence.opened(now) {
            if self.sequence.is_to_be_told() {
                self.push(now, TransactionAction::Ready);
            }
            self.begin_phase(now, limit);
            self.end_phase_if_over(now);
        }
    }

    /// Time of the next action that is not caused by an event; [`Time::NEVER`] if there is none.
    #[must_use]
    pub fn next_action(&self) -> Time {
        if self.outbox.is_empty() { self.next_due() } else { self.since }
    }

    /// The next action that is due at `now`; none: no further action is due.
    pub fn poll(&mut self, now: Time) -> Option<TransactionAction> {
        if self.outbox.is_empty() {
            self.advance(now);
        }
        self.outbox.pop_front()
    }

    /// See [`Traffic::go`](crate::Traffic::go). After a hold, all clients log in again, because the
    /// application may have been restarted.
    pub fn go(&mut self, at: Time) -> bool {
        let goes = self.sequence.go(at);
        if let Some(limit) = self.sequence.resume(at) {
            (0..self.clients.len()).for_each(|client| self.leave(client));
            self.begin_measuring(at, limit);
        }
        goes
    }

    /// Reports a successful answer to a client's request.
    pub fn answered(&mut self, now: Time, client: u32, answer: Answer) {
        // A driver may report an answer before it polls for actions that were due earlier.
        self.advance(now);
        let index = client as usize;
        let own = &mut self.clients[index];
        let first_sent = *own.sent.get_or_insert(answer.sent);
        own.is_answered = true;
        let (operation, intended, due) = (own.operation, own.intended, own.due);
        if self.is_measuring {
            let counts = &mut self.counts[operation as usize];
            counts.page_elements += 1;
            counts.bytes_read += answer.bytes_read;
            counts.bytes_written += answer.bytes_written;
            counts.response_sum_ns += now.since(due).as_ns();
            let Answer { sent, first_byte, .. } = answer;
            self.push(
                now,
                TransactionAction::Element {
                    operation,
                    intended: due,
                    sent,
                    first_byte,
                    ended: now,
                },
            );
        }
        self.follow(index, answer.holding);
        if self.ask(now, index) {
            return;
        }
        if self.is_measuring {
            self.counts[operation as usize].completed += 1;
            let sent = first_sent;
            self.push(
                now,
                TransactionAction::Transaction { client, operation, intended, sent, ended: now },
            );
        }
        self.ended(now, client, Duration::ZERO);
    }

    /// Reports a failed request of a client. The transaction of the client fails too.
    pub fn failed(&mut self, now: Time, client: u32, failed: Failed) {
        self.advance(now);
        let index = client as usize;
        let Client { operation, step, .. } = self.clients[index];
        if self.is_measuring {
            let counts = &mut self.counts[operation as usize];
            counts.bytes_read += failed.bytes_read;
            counts.bytes_written += failed.bytes_written;
            match failed.why {
                Failure::Network(_) => counts.network_errors += 1,
                Failure::Server(_) => counts.server_errors += 1,
            }
            self.push(now, TransactionAction::Failed { operation, why: failed.why });
        }
        let changes_user = matches!(step, Some(Step::Login | Step::Logout | Step::Register));
        if failed.why.ends_session() || changes_user {
            self.leave(index);
        }
        let pause = match failed.why {
            Failure::Network(_) => PAUSE_AFTER_BREAK,
            Failure::Server(_) => Duration::ZERO,
        };
        self.ended(now, client, pause);
    }

    fn push(&mut self, now: Time, action: TransactionAction) {
        if self.outbox.is_empty() {
            self.since = now;
        }
        self.outbox.push_back(action);
    }

    /// Time of the next action that is not caused by an event.
    fn next_due(&self) -> Time {
        let thinker = self.thinking.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        self.sequence.due().min(self.statistics_due).min(self.arrival).min(thinker)
    }

    /// Performs everything that is due up to `now`, in the order of time.
    fn advance(&mut self, now: Time) {
        loop {
            let due = self.next_due();
            if due > now || due == Time::NEVER {
                return;
            }
            if self.sequence.due() == due {
                self.turn(due);
            } else if self.statistics_due == due {
                self.publish(due);
                self.statistics_due += self.config.statistics_every;
            } else if self.arrival == due {
                self.arrive(due);
            } else if let Some(Reverse((_, client))) = self.thinking.pop() {
                self.begin(due, client as usize);
            }
            self.end_phase_if_over(due);
        }
    }

    fn turn(&mut self, now: Time) {
        match self.sequence.turn(now) {
            Some(Turn::Measure(limit)) => self.go_on_measuring(now, limit),
            Some(Turn::Over) => self.end_measuring(now),
            None => {}
        }
    }

    fn begin_phase(&mut self, now: Time, limit: Limit) {
        self.limit = limit;
        let clients = self.clients.len() as u32;
        match self.config.load {
            Load::Closed { think, varies, .. } => {
                for client in 0..clients {
                    // Spreads the first submissions over the think time, because later submissions
                    // will be spread like this too.
                    let at = now
                        + if varies {
                            self.streams.pace.exponential(think)
                        } else {
                            self.streams.pace.uniform_span(think)
                        };
                    self.submit_later(at, client);
                }
            }
            Load::Open { interval, varies, offset, .. } => {
                self.free = (0..clients).rev().collect();
                let wait = if varies { self.streams.pace.exponential(interval) } else { offset };
                self.arrive_later(now + wait);
            }
        }
    }

    fn begin_measuring(&mut self, at: Time, limit: Limit) {
        self.count_from(at);
        self.begin_phase(at, limit);
        self.end_phase_if_over(at);
    }

    /// Begins the measuring phase while the load of the warm-up continues.
    fn go_on_measuring(&mut self, at: Time, limit: Limit) {
        self.count_from(at);
        for client in &self.clients {
            let counts = &mut self.counts[client.operation as usize];
            counts.offered += u64::from(client.is_busy);
            counts.carried += u64::from(client.is_busy);
        }
        self.limit = limit;
        self.thinking.retain(|Reverse((at, _))| limit.allows(0, *at));
        self.arrive_later(self.arrival);
    }

    fn count_from(&mut self, at: Time) {
        self.is_measuring = true;
        self.began = at;
        self.statistics_due = at + self.config.statistics_every;
        self.counts.fill(Counts::default());
        self.clients.iter_mut().for_each(|client| client.is_answered = false);
        self.push(at, TransactionAction::Begin { at });
    }

    fn end_measuring(&mut self, at: Time) {
        for client in &self.clients {
            self.counts[client.operation as usize].unfinished += u64::from(client.is_busy);
        }
        self.publish(at);
        self.is_measuring = false;
        self.statistics_due = Time::NEVER;
        self.push(at, TransactionAction::Over { at });
    }

    fn publish(&mut self, at: Time) {
        let mut counts = Counts::default();
        self.counts.iter().for_each(|&own| counts += own);
        let is_starved = |client: &&Client| client.is_busy && !client.is_answered;
        let statistics = Statistics {
            at: at.since(self.began),
            users: self.users(),
            starved: self.clients.iter().filter(is_starved).count() as u32,
            counts,
        };
        self.push(at, TransactionAction::Statistics(statistics));
    }

    /// Ends the current phase if the phase's time is over and nothing is in flight.
    fn end_phase_if_over(&mut self, now: Time) {
        let is_quiet =
            self.under_way == 0 && self.thinking.is_empty() && self.arrival == Time::NEVER;
        if !is_quiet || !self.sequence.may_end() {
            return;
        }
        match self.sequence.ended(now) {
            Next::Hold => self.push(now, TransactionAction::Hold),
            Next::Measure(limit) => self.begin_measuring(now, limit),
            Next::End => self.push(now, TransactionAction::End),
        }
    }

    /// Schedules the submission of a closed-loop client at `at`, if the phase allows it.
    fn submit_later(&mut self, at: Time, client: u32) {
        if self.limit.allows(0, at) {
            self.thinking.push(Reverse((at, client)));
        }
    }

    /// Schedules the next submission of an open loop at `at`, if the phase allows it.
    fn arrive_later(&mut self, at: Time) {
        self.arrival = if self.limit.allows(0, at) { at } else { Time::NEVER };
    }

    /// Starts the submission of an open loop that is due.
    fn arrive(&mut self, now: Time) {
        if let Load::Open { interval, varies, .. } = self.config.load {
            let wait = if varies { self.streams.pace.exponential(interval) } else { interval };
            self.arrive_later(now + wait);
        }
        if let Some(client) = self.free.pop() {
            self.begin(now, client as usize);
            return;
        }
        let operation = self.draw();
        if self.is_measuring {
            let counts = &mut self.counts[operation as usize];
            counts.offered += 1;
            counts.not_met += 1;
        }
    }

    /// Draws the next operation of the mix.
    fn draw(&mut self) -> u32 {
        let chance = self.streams.mix.below(WHOLE_PPM);
        self.shares.partition_point(|&up_to| up_to <= chance) as u32
    }

    /// The next operation of a client. A sale without a holding becomes a purchase, and in exchange
    /// a later purchase becomes a sale. New users are excluded from this exchange. They start
    /// without holdings, so because of their sales the other users would sell until no holdings
    /// were left (`DayTrader` 7 and 8 do the same: `getScenarioAction` and the scenario servlet).
    fn choose(&mut self, client: usize) -> u32 {
        let own = &self.clients[client];
        let is_registered = own.user.is_some();
        if self.is_brokerage && !own.is_logged_in {
            return self.login;
        }
        let drawn = self.draw();
        match self.sell {
            Some(sale) if is_registered && self.deficit > 0 && self.buy == Some(drawn) => {
                self.deficit -= 1;
                sale
            }
            _ => drawn,
        }
    }

    /// Starts a client's next transaction, which was due at `due`.
    fn begin(&mut self, due: Time, client: usize) {
        let operation = self.choose(client);
        let own = &mut self.clients[client];
        own.operation = operation;
        own.is_busy = true;
        own.intended = due;
        own.sent = None;
        own.images = 0;
        own.rest = match self.config.operations[operation as usize].script {
            Script::Brokerage(operation) => Rest::Steps(operation.steps()),
            Script::Plain { requests } => Rest::Plain { next: 0, requests },
        };
        self.under_way += 1;
        if self.is_measuring {
            self.counts[operation as usize].offered += 1;
        }
        self.ask(due, client);
    }

    /// Sends a client's next request; false: the transaction of the client has no further request.
    fn ask(&mut self, now: Time, client: usize) -> bool {
        let Some(request) = self.next_request(client) else { return false };
        self.clients[client].due = now;
        self.push(now, TransactionAction::Request { client: client as u32, request });
        true
    }

    fn next_request(&mut self, client: usize) -> Option<Request> {
        let own = &mut self.clients[client];
        if own.images > 0 {
            own.images -= 1;
            own.step = None;
            return Some(Request::Image { number: self.config.page_images - 1 - own.images });
        }
        match &mut own.rest {
            Rest::Plain { next, requests } => {
                let request = *next;
                *next += 1;
                (request < *requests)
                    .then_some(Request::Plain { operation: own.operation, request })
            }
            Rest::Steps(steps) => {
                let (&step, rest) = steps.split_first()?;
                *steps = rest;
                own.step = Some(step);
                Some(self.request(client, step))
            }
        }
    }

    /// The request of a step, with its details.
    fn request(&mut self, client: usize, step: Step) -> Request {
        let (quotes, detail) = (self.config.quotes, &mut self.streams.detail);
        match step {
            Step::Login => {
                self.leave(client);
                let user = self.deck.deal(&mut self.streams.deck);
                self.clients[client].user = Some(user);
                Request::Login { user }
            }
            Step::Logout => Request::Logout,
            Step::Home => Request::Home,
            Step::Quotes => {
                let count = 1 + detail.below(Symbols::MOST);
                Request::Quotes(Symbols::new(count, || detail.below(quotes)))
            }
            Step::Quote => {
                // The stock is stored for the purchase, because users buy stocks that they have
                // looked at.
                let symbol = detail.below(quotes);
                self.clients[client].symbol = symbol;
                Request::Quotes(Symbols::new(1, || symbol))
            }
            Step::Portfolio => Request::Portfolio,
            Step::Account => Request::Account,
            Step::Update => Request::Update { number: numbered(&mut self.updates) },
            Step::Buy => {
                let symbol = self.clients[client].symbol;
                let quantity = 1 + detail.below(QUANTITY_MAX);
                Request::Buy { symbol, quantity, number: numbered(&mut self.purchases) }
            }
            Step::Sell => Request::Sell { holding: self.clients[client].holding },
            Step::Register => Request::Register { number: numbered(&mut self.registrations) },
        }
    }

    /// Applies the effect of an answer to a client's step.
    fn follow(&mut self, client: usize, holding: Option<u64>) {
        let own = &mut self.clients[client];
        let Some(step) = own.step else { return };
        own.images = self.config.page_images;
        match step {
            Step::Login | Step::Register => own.is_logged_in = true,
            Step::Logout => self.leave(client),
            Step::Portfolio if matches!(own.rest, Rest::Steps([Step::Sell])) => {
                if let Some(holding) = holding {
                    own.holding = holding;
                } else {
                    own.rest = Rest::Steps(BUY_INSTEAD);
                    self.deficit += u64::from(own.user.is_some());
                    self.becomes_purchase(client);
                }
            }
            _ => {}
        }
    }

    /// Counts a sale without a holding as a purchase.
    fn becomes_purchase(&mut self, client: usize) {
        let (own, Some(buy)) = (&mut self.clients[client], self.buy) else { return };
        if self.is_measuring {
            let carried = u64::from(own.intended < self.began);
            let before = &mut self.counts[own.operation as usize];
            before.offered -= 1;
            before.carried -= carried;
            let after = &mut self.counts[buy as usize];
            after.offered += 1;
            after.carried += carried;
        }
        own.operation = buy;
    }

    /// Ends a client's session.
    fn leave(&mut self, client: usize) {
        let own = &mut self.clients[client];
        own.is_logged_in = false;
        if let Some(user) = own.user.take() {
            self.deck.give_back(user);
        }
    }

    /// Ends a client's transaction. The next transaction follows after the think time, or after
    /// `pause` if `pause` is longer.
    fn ended(&mut self, now: Time, client: u32, pause: Duration) {
        let own = &mut self.clients[client as usize];
        own.is_busy = false;
        own.step = None;
        self.under_way -= 1;
        match self.config.load {
            Load::Open { .. } => self.free.push(client),
            Load::Closed { think, varies, .. } => {
                let think = if varies { self.streams.pace.exponential(think) } else { think };
                let next = now + think.max(pause);
                if next > now {
                    self.submit_later(next, client);
                } else if self.limit.allows(0, now) {
                    self.begin(now, client as usize);
                }
            }
        }
        self.end_phase_if_over(now);
    }
}

/// Increases the last number of a series, and returns it.
fn numbered(last: &mut u64) -> u64 {
    *last += 1;
    *last
}
