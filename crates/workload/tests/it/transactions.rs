//! The generator of load against a server whose times are worked by hand.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use netstudy_units::{Duration, Time};
use netstudy_workload::transactions::{
    Answer, Counts, DeckConfig, Failed, Failure, Generator, GeneratorConfig, Load, NetworkFailure,
    OperationConfig, Random, Request, Script, ServerFailure, Statistics, Streams,
    TransactionAction,
};
use netstudy_workload::{Phases, Until};

/// Multiplicative congruential numbers (L'Ecuyer 1999): good enough to shuffle and to draw a mix.
#[derive(Clone, Debug)]
struct Numbers(u64);

impl Numbers {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[allow(clippy::cast_sign_loss, reason = "uniform numbers are not negative")]
impl Random for Numbers {
    fn below(&mut self, n: u32) -> u32 {
        (self.uniform() * f64::from(n)) as u32
    }

    fn uniform_span(&mut self, max: Duration) -> Duration {
        Duration::from_ns((self.uniform() * max.as_ns() as f64) as u64)
    }

    fn exponential(&mut self, mean: Duration) -> Duration {
        Duration::from_ns((-(1.0 - self.uniform()).ln() * mean.as_ns() as f64) as u64)
    }
}

fn streams() -> Streams<Numbers> {
    let seed = Cell::new(1);
    Streams::new(|_| {
        seed.set(seed.get() + 1);
        Numbers(seed.get())
    })
}

const fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

/// The standard mix of the brokerage: name and share in per cent.
const STANDARD: [(&str, u32); 9] = [
    ("home", 20),
    ("quotes", 40),
    ("logout", 4),
    ("register", 2),
    ("account", 10),
    ("portfolio", 12),
    ("buy", 4),
    ("sell", 4),
    ("update", 4),
];

fn brokerage(mix: &[(&str, u32)]) -> Vec<OperationConfig> {
    let operation = |&(name, share_pct): &(&str, u32)| OperationConfig {
        name: name.to_owned(),
        share_ppm: share_pct * 10_000,
        script: Script::of_brokerage(name).expect("it is an operation of the brokerage"),
    };
    mix.iter().map(operation).collect()
}

/// One page of any application.
fn page() -> Vec<OperationConfig> {
    let script = Script::Plain { requests: 1 };
    vec![OperationConfig { name: "page".to_owned(), share_ppm: 1_000_000, script }]
}

fn config(operations: Vec<OperationConfig>, load: Load, measure: Duration) -> GeneratorConfig {
    let config = GeneratorConfig {
        operations,
        load,
        deck: DeckConfig { first: 0, step: 1, users: 500 },
        quotes: 1000,
        page_images: 0,
        statistics_every: Duration::from_secs(3600),
        phases: Phases { warmup: Until::Count(0), measure: Until::Time(measure), hold: false },
    };
    config.check().expect("it can be carried out");
    config
}

const fn closed(users: u32, think: Duration) -> Load {
    Load::Closed { users, think, varies: false }
}

const fn every(interval: Duration, users: u32) -> Load {
    Load::Open { interval, varies: false, offset: Duration::ZERO, users }
}

/// The server's reaction to a request.
enum Deed {
    /// Answers at this time.
    Answer(Time),
    /// Answers to a portfolio with this holding.
    Hold(Time, Option<u64>),
    /// Fails then.
    Fail(Time, Failure),
}

/// Everything seen of a generator.
#[derive(Default)]
struct Seen {
    requests: Vec<(Time, u32, Request)>,
    /// Response and service time of page elements, in µs.
    elements: Vec<(u64, u64)>,
    /// Operation and response time of transactions.
    transactions: Vec<(u32, Duration)>,
    failures: Vec<(u32, Failure)>,
    statistics: Vec<Statistics>,
    /// Ends and beginnings of phases.
    phases: Vec<(Time, TransactionAction)>,
}

/// Drives a generator against a server until it ends or holds.
fn drive(
    generator: &mut Generator<Numbers>,
    from: Time,
    mut server: impl FnMut(Time, Request) -> Deed,
) -> Seen {
    let mut seen = Seen::default();
    let mut pending = BinaryHeap::new();
    let mut results = BTreeMap::new();
    let mut now = from;
    generator.start(from);
    loop {
        while let Some(action) = generator.poll(now) {
            match action {
                TransactionAction::Request { client, request } => {
                    seen.requests.push((now, client, request));
                    let number = seen.requests.len();
                    let (at, result) = match server(now, request) {
                        Deed::Answer(at) => (at, Ok(Some(7))),
                        Deed::Hold(at, holding) => (at, Ok(holding)),
                        Deed::Fail(at, why) => (at, Err(why)),
                    };
                    pending.push(Reverse((at, number, client)));
                    results.insert(number, (now, result));
                }
                TransactionAction::Element { intended, sent, ended, .. } => {
                    let us = |span: Duration| span.as_ns() / 1000;
                    seen.elements.push((us(ended.since(intended)), us(ended.since(sent))));
                }
                TransactionAction::Transaction { operation, intended, ended, .. } => {
                    seen.transactions.push((operation, ended.since(intended)));
                }
                TransactionAction::Failed { operation, why } => {
                    seen.failures.push((operation, why));
                }
                TransactionAction::Statistics(statistics) => seen.statistics.push(statistics),
                TransactionAction::End | TransactionAction::Hold => {
                    seen.phases.push((now, action));
                    return seen;
                }
                _ => seen.phases.push((now, action)),
            }
        }
        let answered = pending.peek().map_or(Time::NEVER, |Reverse((at, _, _))| *at);
        now = answered.min(generator.next_action());
        assert!(now < Time::NEVER, "the generator waits for nothing");
        if answered > now {
            continue;
        }
        let Reverse((_, number, client)) = pending.pop().expect("it is there");
        match results.remove(&number).expect("it is there") {
            (sent, Ok(holding)) => {
                let (first_byte, bytes_read, bytes_written) = (now, 1000, 100);
                let answer = Answer { sent, first_byte, bytes_read, bytes_written, holding };
                generator.answered(now, client, answer);
            }
            (_, Err(why)) => {
                generator.failed(now, client, Failed { why, bytes_read: 10, bytes_written: 100 });
            }
        }
    }
}

fn run(config: GeneratorConfig, server: impl FnMut(Time, Request) -> Deed) -> (Counts, Seen) {
    let mut generator = Generator::new(config, streams());
    let seen = drive(&mut generator, at(10), server);
    (sum(&generator), seen)
}

fn sum(generator: &Generator<Numbers>) -> Counts {
    let mut all = Counts::default();
    generator.counts().iter().for_each(|&counts| all += counts);
    let ended = all.completed + all.network_errors + all.server_errors;
    assert_eq!(all.offered, ended + all.not_met + all.unfinished, "{all:?}");
    all
}

fn constant(time: Duration) -> impl FnMut(Time, Request) -> Deed {
    move |now, _| Deed::Answer(now + time)
}

#[test]
fn in_a_closed_loop_users_are_throughput_times_response_time() {
    let (counts, seen) = run(config(page(), closed(5, ms(0)), ms(1000)), constant(ms(2)));
    // Five users, an answer each 2 ms; the last ones come as the phase ends, and are not counted.
    assert_eq!((counts.page_elements, counts.completed), (5 * 499, 5 * 499));
    assert_eq!((counts.offered, counts.unfinished), (5 * 500, 5));
    assert!(seen.elements.iter().all(|&times| times == (2000, 2000)));
    assert_eq!(counts.response_sum_ns, 5 * 499 * 2_000_000);
    assert_eq!((counts.bytes_read, counts.bytes_written), (5 * 499 * 1000, 5 * 499 * 100));
}

#[test]
fn users_who_think_submit_less_often() {
    let (counts, seen) = run(config(page(), closed(5, ms(8)), ms(1000)), constant(ms(2)));
    // N = X x (R + Z): 5 users, 2 ms and 8 ms: 500 a second. Each user's first submission is due within the
    // first 8 ms, so each has its 100 whole cycles, or 99 and an unfinished one.
    assert_eq!(counts.offered, 500);
    assert!(counts.completed >= 495, "{counts:?}");
    assert!(seen.elements.iter().all(|&times| times == (2000, 2000)));
    let first: BTreeSet<Time> = seen.requests[..5].iter().map(|&(at, ..)| at).collect();
    assert_eq!(first.len(), 5, "they begin apart");
}

#[test]
fn think_times_vary_around_their_mean() {
    let load = Load::Closed { users: 20, think: ms(8), varies: true };
    let (counts, _) = run(config(page(), load, ms(100_000)), constant(ms(2)));
    // 20 users, 10 ms a cycle: 2000 a second. Five standard deviations of the cycles of 100 s, each with 8 ms
    // of spread: 5 x sqrt(200000) x 8/10 = 1789.
    assert!(counts.completed.abs_diff(200_000) < 1789, "{counts:?}");
}

/// A server that answers in 100 µs, and stands still from 200 ms to 700 ms.
#[test]
fn users_without_an_answer_in_the_phase_are_starved() {
    let mut requests = 0;
    // Of three users, the first waits for longer than the phase.
    let (_, seen) = run(config(page(), closed(3, ms(0)), ms(100)), |now, _| {
        requests += 1;
        Deed::Answer(now + if requests == 1 { ms(500) } else { ms(2) })
    });
    let last = seen.statistics.last().expect("the whole phase has a row");
    assert_eq!((last.users, last.starved), (3, 1));
}

#[test]
fn users_who_think_are_not_starved() {
    let (_, seen) = run(config(page(), closed(3, ms(10_000)), ms(1)), constant(ms(2)));
    assert_eq!(seen.statistics.last().expect("a row").starved, 0);
}

fn stalled(now: Time, _: Request) -> Deed {
    let is_still = (at(200)..at(700)).contains(&now);
    Deed::Answer((if is_still { at(700) } else { now }) + Duration::from_us(100))
}

#[test]
fn an_open_loop_sees_a_stall_that_a_closed_one_hides() {
    let mut generator = Generator::new(config(page(), every(ms(1), 1000), ms(1000)), streams());
    let seen = drive(&mut generator, Time::ZERO, stalled);
    let mut open: Vec<u64> = seen.elements.iter().map(|&(response, _)| response).collect();
    open.sort_unstable();
    // A submission each millisecond: 500 of them wait for the end of the stall, 1 ms to 500 ms.
    let mut by_hand: Vec<u64> = vec![100; 500];
    by_hand.extend((1..=500).map(|wait| wait * 1000 + 100));
    assert_eq!(open, by_hand);
    assert_eq!(open[990], 491_100, "the 99th percentile of 1000");

    let mut generator = Generator::new(config(page(), closed(1, ms(1)), ms(1000)), streams());
    let seen = drive(&mut generator, Time::ZERO, stalled);
    let slow = seen.elements.iter().filter(|&&(response, _)| response > 100).count();
    assert_eq!(slow, 1, "one user waits once: its 99th percentile is 100 µs");
}

#[test]
fn a_driver_that_is_late_makes_no_submission_younger() {
    let mut generator = Generator::new(config(page(), every(ms(1), 10), ms(100)), streams());
    generator.start(at(0));
    let asked = |generator: &mut Generator<Numbers>, now| {
        let is_request =
            |action: &TransactionAction| matches!(action, TransactionAction::Request { .. });
        std::iter::from_fn(|| generator.poll(now)).filter(is_request).count()
    };
    assert_eq!(asked(&mut generator, at(0)), 1);
    assert_eq!(asked(&mut generator, at(5)), 5, "nobody polled for 5 ms");
    let answer =
        Answer { sent: at(5), first_byte: at(6), bytes_read: 1, bytes_written: 1, holding: None };
    generator.answered(at(6), 1, answer);
    let elements: Vec<(Time, Time)> = std::iter::from_fn(|| generator.poll(at(6)))
        .filter_map(|action| match action {
            TransactionAction::Element { intended, sent, .. } => Some((intended, sent)),
            _ => None,
        })
        .collect();
    assert_eq!(elements, [(at(1), at(5))], "it was due at 1 ms and sent at 5 ms");
}

#[test]
fn a_submission_that_is_one_too_many_is_not_met() {
    let (counts, seen) =
        run(config(page(), every(ms(1), 3), ms(100)), constant(Duration::from_us(3500)));
    // Three at a time, 3.5 ms each: three of four are met. The ones of 97 ms and 98 ms end after the phase.
    assert_eq!((counts.offered, counts.not_met), (100, 25));
    assert_eq!((counts.completed, counts.unfinished), (73, 2));
    assert!(seen.requests.iter().all(|&(_, client, _)| client < 3));
}

#[test]
fn arrivals_are_independent_of_each_other() {
    let load = Load::Open { interval: ms(1), varies: true, offset: Duration::ZERO, users: 1000 };
    let (counts, seen) = run(config(page(), load, ms(20_000)), constant(ms(1)));
    // Five standard deviations of 20,000: 707.
    assert!(counts.offered.abs_diff(20_000) < 707, "{counts:?}");
    assert_eq!(counts.not_met, 0);
    let gaps = seen.requests.windows(2).map(|pair| pair[1].0.since(pair[0].0).as_ns());
    let long = gaps.filter(|&gap| gap > 1_000_000).count() as f64;
    // Longer than the mean: 1/e of them; five standard deviations of that share.
    let share = long / seen.requests.len() as f64;
    assert!((share - 0.3679).abs() < 5.0 * (0.3679f64 * 0.6321 / 20_000.0).sqrt(), "{share}");
}

#[test]
fn generators_of_an_open_loop_take_turns() {
    let times = |offset| {
        let load = Load::Open { interval: ms(10), varies: false, offset, users: 9 };
        let (_, seen) = run(config(page(), load, ms(30)), constant(ms(1)));
        seen.requests.iter().map(|&(at, ..)| at).collect::<Vec<_>>()
    };
    assert_eq!(times(ms(0)), [at(10), at(20), at(30)]);
    assert_eq!(times(ms(5)), [at(15), at(25), at(35)]);
}

#[test]
fn the_mix_has_its_shares() {
    let load = closed(10, ms(0));
    let config = config(brokerage(&STANDARD), load, ms(400_000));
    let mut generator = Generator::new(config, streams());
    let seen = drive(&mut generator, at(0), constant(ms(20)));
    let all = sum(&generator);
    let names: Vec<&str> = generator.names().collect();
    assert_eq!(names.last(), Some(&"login"));
    let drawn = all.offered - generator.counts()[9].offered;
    for (&(name, share_pct), counts) in STANDARD.iter().zip(generator.counts()) {
        let share = f64::from(share_pct) / 100.0;
        let error = counts.offered as f64 - share * drawn as f64;
        let limit = 5.0 * (share * (1.0 - share) * drawn as f64).sqrt();
        assert!(error.abs() < limit, "{name}: {} of {drawn}", counts.offered);
    }
    // 1.20 page elements an operation: two for logout, update, buy and sell, three for register.
    let elements = seen.elements.len() as f64 / seen.transactions.len() as f64;
    assert!((elements - 1.20).abs() < 0.02, "{elements}");
}

#[test]
fn no_user_has_two_sessions_and_all_have_their_turn() {
    let mix = [("logout", 100)];
    let mut config = config(brokerage(&mix), closed(7, ms(0)), ms(2000));
    config.deck = DeckConfig { first: 1, step: 2, users: 20 };
    let (_, seen) = run(config, constant(ms(1)));
    let mut sessions: BTreeMap<u32, u32> = BTreeMap::new();
    let mut dealt = vec![];
    for (_, client, request) in seen.requests {
        match request {
            Request::Login { user } => {
                assert!(sessions.values().all(|&other| other != user), "user {user} is logged in");
                sessions.insert(client, user);
                dealt.push(user);
            }
            Request::Logout => drop(sessions.remove(&client).expect("it is logged in")),
            other => panic!("{other:?}"),
        }
    }
    assert!(dealt.iter().all(|user| user % 2 == 1 && *user < 41));
    let first: BTreeSet<u32> = dealt[..20].iter().copied().collect();
    assert_eq!(first.len(), 20, "each user has one turn before any has the second");
}

/// The requests of one client, by name.
fn requests_of(mix: &[(&str, u32)], holding: Option<u64>, ms_measured: u64) -> Vec<String> {
    let config = config(brokerage(mix), closed(1, ms(0)), ms(ms_measured));
    let (_, seen) = run(config, |now, request| match request {
        Request::Portfolio => Deed::Hold(now + ms(1), holding),
        _ => Deed::Answer(now + ms(1)),
    });
    let name = |request: Request| {
        let text = format!("{request:?}");
        text.split([' ', '(']).next().expect("it has a name").to_owned()
    };
    seen.requests.into_iter().map(|(_, _, request)| name(request)).collect()
}

#[test]
fn operations_are_made_of_their_requests() {
    let of = |name| requests_of(&[(name, 100)], Some(3), 6);
    assert_eq!(of("home"), ["Login", "Home", "Home", "Home", "Home", "Home"]);
    assert_eq!(of("update")[..4], ["Login", "Account", "Update", "Account"]);
    assert_eq!(of("buy")[..4], ["Login", "Quotes", "Buy", "Quotes"]);
    assert_eq!(of("sell")[..4], ["Login", "Portfolio", "Sell", "Portfolio"]);
    assert_eq!(of("logout")[..4], ["Login", "Logout", "Login", "Logout"]);
    assert_eq!(of("register")[..5], ["Login", "Logout", "Register", "Home", "Logout"]);
}

#[test]
fn a_sale_without_a_holding_buys_and_a_later_purchase_sells() {
    let requests = requests_of(&[("sell", 100)], None, 8);
    assert_eq!(requests[..5], ["Login", "Portfolio", "Quotes", "Buy", "Portfolio"]);
    let mut config = config(brokerage(&[("buy", 50), ("sell", 50)]), closed(1, ms(0)), ms(4000));
    config.quotes = 10;
    let mut holdings = 0u64;
    let (mut sold, mut bought) = (0u64, 0u64);
    let (_, seen) = run(config, |now, request| {
        let now = now + ms(1);
        match request {
            Request::Portfolio => Deed::Hold(now, (holdings > 0).then_some(holdings)),
            Request::Buy { symbol, quantity, .. } => {
                assert!(symbol < 10 && (1..=200).contains(&quantity));
                (holdings, bought) = (holdings + 1, bought + 1);
                Deed::Answer(now)
            }
            Request::Sell { holding } => {
                assert_eq!(holding, holdings, "it sells what the portfolio told");
                (holdings, sold) = (holdings - 1, sold + 1);
                Deed::Answer(now)
            }
            _ => Deed::Answer(now),
        }
    });
    let numbers: BTreeSet<u64> = seen
        .requests
        .iter()
        .filter_map(|&(_, _, request)| match request {
            Request::Buy { number, .. } => Some(number),
            _ => None,
        })
        .collect();
    assert_eq!(numbers.len() as u64, bought, "each purchase has its own number");
    assert!(sold > 0 && bought >= sold, "{bought} bought, {sold} sold");
}

/// A brokerage with one client at a time: it counts purchases, sales and each user's holdings.
struct Exchange {
    /// Holdings of the registered users.
    held: Vec<u64>,
    /// The registered user who is logged in, or the holdings of a new one.
    user: Option<usize>,
    held_by_new: u64,
    /// Purchases and sales so far.
    bought: u64,
    sold: u64,
}

impl Exchange {
    /// The registered users have 5 holdings each on average, as in the published population.
    fn new(users: u64) -> Self {
        let held = (0..users).map(|user| user % 11).collect();
        Self { held, user: None, held_by_new: 0, bought: 0, sold: 0 }
    }

    fn serve(&mut self, now: Time, request: Request) -> Deed {
        let now = now + ms(1);
        match request {
            Request::Login { user } => self.user = Some(user as usize),
            Request::Register { .. } => (self.user, self.held_by_new) = (None, 0),
            Request::Portfolio => return Deed::Hold(now, (*self.own() > 0).then_some(1)),
            Request::Buy { .. } => {
                *self.own() += 1;
                self.bought += 1;
            }
            Request::Sell { .. } => {
                *self.own() -= 1;
                self.sold += 1;
            }
            _ => {}
        }
        Deed::Answer(now)
    }

    fn own(&mut self) -> &mut u64 {
        match self.user {
            Some(user) => &mut self.held[user],
            None => &mut self.held_by_new,
        }
    }

    fn held(&self) -> u64 {
        self.held.iter().sum()
    }
}

#[test]
fn purchases_and_sales_keep_their_shares_however_long_it_goes_on() {
    let mut exchange = Exchange::new(200);
    let held_before = exchange.held();
    let mut config = config(brokerage(&STANDARD), closed(1, ms(0)), ms(400_000));
    config.deck.users = 200;
    let mut generator = Generator::new(config, streams());
    let mut parts = vec![(0, 0)];
    drive(&mut generator, at(0), |now, request| {
        if now >= at(100_000 * parts.len() as u64) {
            parts.push((exchange.bought, exchange.sold));
        }
        exchange.serve(now, request)
    });
    parts.push((exchange.bought, exchange.sold));
    let of = |name| {
        let number = generator.names().position(|own| own == name).expect("it is in the mix");
        generator.counts()[number].completed
    };
    // The brokerage has handled the last request; the generator has no response to it and does not count it.
    assert!(exchange.bought - of("buy") <= 1 && exchange.sold - of("sell") <= 1);
    let all = sum(&generator);
    let trades = (exchange.bought + exchange.sold) as f64;
    let expected = 0.08 * (all.offered - of("login")) as f64;
    assert!((trades - expected).abs() < 5.0 * expected.sqrt(), "{trades} of {expected}");
    // Each part has its shares; the first holdings are as many as later ones.
    let shares: Vec<f64> = parts
        .windows(2)
        .map(|two| {
            let [bought, sold] = [two[1].0 - two[0].0, two[1].1 - two[0].1].map(|one| one as f64);
            bought / (bought + sold)
        })
        .collect();
    let error = (0.25 / (trades / shares.len() as f64)).sqrt();
    for share in &shares {
        assert!((share - shares[0]).abs() < 5.0 * error * 2.0_f64.sqrt(), "{shares:?}");
    }
    // Registered users buy as often as they sell: their holdings go up and down with each trade.
    let drift = exchange.held().abs_diff(held_before) as f64;
    assert!(drift < 5.0 * trades.sqrt(), "{held_before} holdings became {}", exchange.held());
}

#[test]
fn images_follow_their_page() {
    let mut config = config(brokerage(&[("update", 100)]), closed(1, ms(0)), ms(9));
    config.page_images = 2;
    let (counts, seen) = run(config, constant(ms(1)));
    let images: Vec<Option<u32>> = seen
        .requests
        .iter()
        .map(|&(_, _, request)| match request {
            Request::Image { number } => Some(number),
            _ => None,
        })
        .collect();
    let page = [None, Some(0), Some(1)];
    assert_eq!(images, [page, page, page].concat());
    assert_eq!((counts.page_elements, counts.completed), (8, 1), "the log-in has ended");
}

#[test]
fn users_log_in_again_when_their_session_is_lost() {
    let mut asked = 0;
    let server = |now: Time, _| {
        asked += 1;
        let refused = Failure::Server(ServerFailure::Status(401));
        if asked == 3 { Deed::Fail(now + ms(1), refused) } else { Deed::Answer(now + ms(1)) }
    };
    let (counts, seen) = run(config(brokerage(&[("home", 100)]), closed(1, ms(0)), ms(6)), server);
    let log_ins: Vec<bool> = seen
        .requests
        .iter()
        .map(|&(_, _, request)| matches!(request, Request::Login { .. }))
        .collect();
    assert_eq!(log_ins, [true, false, false, true, false, false]);
    assert_eq!((counts.server_errors, counts.network_errors, counts.completed), (1, 0, 4));
    assert_eq!(seen.failures, [(0, Failure::Server(ServerFailure::Status(401)))]);
}

#[test]
fn a_failure_ends_its_transaction_and_a_broken_connection_is_not_hammered() {
    let refused = Failure::Network(NetworkFailure::Refused);
    let server = |now: Time, _| Deed::Fail(now, refused);
    let (counts, seen) = run(config(page(), closed(2, ms(0)), ms(1000)), server);
    assert_eq!((counts.network_errors, counts.completed), (20, 0), "each user, each 100 ms");
    assert_eq!(counts.bytes_read, 200);
    assert_eq!(seen.failures.len(), 20);
}

fn phases(warmup: Until, hold: bool) -> GeneratorConfig {
    let mut config = config(page(), closed(2, ms(0)), ms(10));
    config.phases = Phases { warmup, measure: Until::Time(ms(10)), hold };
    config
}

#[test]
fn a_generator_holds_between_warm_up_and_measuring() {
    let mut generator = Generator::new(phases(Until::Time(ms(5)), true), streams());
    let warm = drive(&mut generator, at(0), constant(ms(2)));
    assert_eq!(warm.phases, [(at(6), TransactionAction::Hold)], "what was begun has ended");
    assert!(warm.elements.is_empty(), "nothing of the warm-up is measured");
    assert!(generator.go(at(50)));
    let seen = drive(&mut generator, at(50), constant(ms(3)));
    let expected = [
        (at(50), TransactionAction::Begin { at: at(50) }),
        (at(60), TransactionAction::Over { at: at(60) }),
        (at(62), TransactionAction::End),
    ];
    assert_eq!(seen.phases, expected);
    assert_eq!(
        sum(&generator),
        Counts {
            offered: 8,
            completed: 6,
            unfinished: 2,
            page_elements: 6,
            bytes_read: 6000,
            bytes_written: 600,
            response_sum_ns: 18_000_000,
            ..Counts::default()
        }
    );
}

#[test]
fn all_clients_log_in_again_after_a_hold() {
    let mut config = config(brokerage(&[("home", 100)]), closed(3, ms(0)), ms(10));
    config.phases = Phases { warmup: Until::Time(ms(5)), hold: true, ..config.phases };
    let mut generator = Generator::new(config, streams());
    drive(&mut generator, at(0), constant(ms(2)));
    generator.go(at(50));
    let seen = drive(&mut generator, at(50), constant(ms(3)));
    let is_login = |&(_, _, request): &(_, _, Request)| matches!(request, Request::Login { .. });
    assert!(seen.requests[..3].iter().all(is_login));
    assert_eq!(seen.requests.iter().filter(|request| is_login(request)).count(), 3);
}

#[test]
fn a_warm_up_goes_on_until_it_is_told_to_measure() {
    let mut generator = Generator::new(phases(Until::Told, true), streams());
    generator.start(at(0));
    assert_eq!(generator.poll(at(0)), Some(TransactionAction::Ready));
    assert!(generator.go(at(7)));
    let seen = drive(&mut generator, at(0), constant(ms(2)));
    let expected = [
        (at(7), TransactionAction::Begin { at: at(7) }),
        (at(17), TransactionAction::Over { at: at(17) }),
        (at(18), TransactionAction::End),
    ];
    assert_eq!(seen.phases, expected);
    let counts = sum(&generator);
    assert_eq!((counts.offered, counts.completed, counts.unfinished), (12, 10, 2));
    assert_eq!(counts.carried, 2, "the two users of the warm-up have one under way each");
}

#[test]
fn statistics_add_up_to_the_whole_phase() {
    let mut config = config(page(), closed(2, ms(0)), ms(10));
    config.statistics_every = ms(4);
    let (counts, seen) = run(config, constant(ms(1)));
    let rows: Vec<_> = seen
        .statistics
        .iter()
        .map(|row| (row.at, row.users, row.counts.page_elements, row.counts.response_sum_ns))
        .collect();
    // An element that ends at the instant of a block counts for the next one.
    let ns = 1_000_000;
    assert_eq!(rows, [(ms(4), 2, 6, 6 * ns), (ms(8), 2, 14, 14 * ns), (ms(10), 2, 18, 18 * ns)]);
    assert_eq!(seen.statistics.last().expect("there are some").counts, counts);
}

/// A server that does anything: answers sooner or later, refuses, breaks connections, forgets sessions.
fn anything(numbers: &mut Numbers) -> impl FnMut(Time, Request) -> Deed + '_ {
    |now, _| {
        let at = now + Duration::from_us(numbers.below(5000).into());
        match numbers.below(20) {
            0 => Deed::Fail(at, Failure::Network(NetworkFailure::Reset)),
            1 => Deed::Fail(at, Failure::Server(ServerFailure::Status(503))),
            2 => Deed::Fail(at, Failure::Server(ServerFailure::Status(401))),
            3 => Deed::Hold(at, None),
            _ => Deed::Answer(at),
        }
    }
}

#[test]
fn whatever_the_server_does_what_was_offered_adds_up() {
    for seed in 1..200 {
        let mut numbers = Numbers(seed);
        let users = 1 + numbers.below(8);
        let think = ms(numbers.below(3).into());
        let varies = numbers.below(2) == 0;
        let interval = Duration::from_us(200 + u64::from(numbers.below(2000)));
        let load = if numbers.below(2) == 0 {
            Load::Closed { users, think, varies }
        } else {
            Load::Open { interval, varies, offset: Duration::ZERO, users }
        };
        let mut config = config(brokerage(&STANDARD), load, ms(300));
        config.deck = DeckConfig { first: 0, step: 1, users: 8 };
        config.page_images = numbers.below(3);
        config.statistics_every = ms(7);
        let mut generator = Generator::new(config, streams());
        let seen = drive(&mut generator, at(0), anything(&mut numbers));
        let counts = sum(&generator);
        assert!(counts.offered > 0, "seed {seed}");
        assert_eq!(seen.transactions.len() as u64, counts.completed, "seed {seed}");
        assert_eq!(seen.elements.len() as u64, counts.page_elements, "seed {seed}");
        let failures = counts.network_errors + counts.server_errors;
        assert_eq!(seen.failures.len() as u64, failures, "seed {seed}");
        let last = seen.statistics.last().expect("the whole phase");
        assert_eq!((last.at, last.counts), (ms(300), counts), "seed {seed}");
    }
}

#[test]
fn what_cannot_be_carried_out_is_refused() {
    let good = config(brokerage(&STANDARD), closed(5, ms(0)), ms(10));
    let refused = |change: &dyn Fn(&mut GeneratorConfig)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad.check().is_err()
    };
    assert!(refused(&|bad| bad.load = closed(0, ms(0))));
    assert!(refused(&|bad| bad.load = closed(501, ms(0))));
    assert!(refused(&|bad| (bad.operations, bad.load) = (page(), closed(1_000_001, ms(0)))));
    assert!(refused(&|bad| bad.load = every(ms(0), 5)));
    assert!(refused(&|bad| bad.quotes = 0));
    assert!(refused(&|bad| bad.statistics_every = ms(0)));
    assert!(refused(&|bad| bad.operations[0].share_ppm += 1));
    assert!(refused(&|bad| bad.operations[0].script = Script::Plain { requests: 1 }));
    assert!(refused(&|bad| bad.phases.measure = Until::Count(5)));
    assert!(refused(&|bad| bad.phases.warmup = Until::Count(5)));
    assert!(!refused(&|bad| bad.operations = page()));
    let mut empty = config(page(), closed(5, ms(0)), ms(10));
    empty.operations[0].script = Script::Plain { requests: 0 };
    assert!(empty.check().is_err());
}
