//! Transactions: the role of a load generator.

use std::net::SocketAddr;

use netstudy_random::Stream;
use netstudy_records::{
    AgentPlan, Arrivals, Deck, Load, Operation, Service, TransactionClient, TransactionScript,
};
use netstudy_units::Duration;
use netstudy_workload::transactions as pure;
use netstudy_workload::transactions::Generator;

use super::role::{Role, Task};
use crate::application::phases;
use crate::http::task::HttpTask;

/// Users of an application.
pub(super) struct Client<'a>(pub(super) &'a TransactionClient);

impl Role for Client<'_> {
    fn has_connections(&self) -> bool {
        false
    }

    fn opens(&self) -> bool {
        true
    }

    fn task(&self, plan: &AgentPlan, _connections: u32) -> Result<Task, String> {
        let config = self.config()?;
        config.check()?;
        let own = self.0;
        if own.request_timeout_ns == 0 {
            return Err("request_timeout_ns must be at least 1".to_owned());
        }
        if !is_line(&own.host) {
            return Err("host: a name must be printable ASCII without white space".to_owned());
        }
        let requests = own.mix.iter().map(|operation| operation.requests.clone());
        Ok(Task::Http(Box::new(HttpTask {
            generator: Generator::new(config, Stream::of_generator(&own.seed, &plan.node)),
            requests: requests.collect(),
            target: SocketAddr::new(own.target.address, own.target.port),
            local: own.local,
            host: own.host.clone(),
            request_timeout: Duration::from_ns(own.request_timeout_ns),
            // Names created at the brokerage must differ from those of other load generators and other runs.
            name: format!("{}-{}", own.seed, own.number),
        })))
    }
}

impl Client<'_> {
    fn config(&self) -> Result<pure::GeneratorConfig, String> {
        let own = self.0;
        let operations: Result<Vec<_>, String> =
            own.mix.iter().map(|operation| self.operation(operation)).collect();
        let Deck { first, step, users } = own.deck;
        Ok(pure::GeneratorConfig {
            operations: operations?,
            load: load(own.load, own.deck),
            deck: pure::DeckConfig { first, step, users },
            quotes: own.quotes,
            page_images: own.page_images,
            statistics_every: Duration::from_ns(own.statistics_every_ns),
            phases: phases(own.warmup, own.measure),
        })
    }

    fn operation(&self, operation: &Operation) -> Result<pure::OperationConfig, String> {
        let Operation { name, share_ppm, requests, .. } = operation;
        let script = match self.0.script {
            TransactionScript::Brokerage => pure::Script::of_brokerage(name)
                .ok_or_else(|| format!("mix: the brokerage has no operation '{name}'"))?,
            TransactionScript::Plain => pure::Script::Plain { requests: requests.len() as u32 },
        };
        for request in requests {
            let type_is_line = request.content_type.as_deref().is_none_or(is_line);
            if !is_line(&request.path) || !request.path.starts_with('/') || !type_is_line {
                return Err(format!(
                    "mix: a request of '{name}' has an invalid path or content type"
                ));
            }
        }
        Ok(pure::OperationConfig { name: name.clone(), share_ppm: *share_ppm, script })
    }
}

/// Whether a text consists of printable ASCII without white space, so that it may be part of a
/// request's head.
fn is_line(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| (0x21..0x7f).contains(&byte))
}

fn load(load: Load, deck: Deck) -> pure::Load {
    match load {
        Load::Closed { users, think_ns, think } => pure::Load::Closed {
            users,
            think: Duration::from_ns(think_ns),
            varies: think == Service::Exponential,
        },
        Load::Open { interval_ps, arrivals, users } => {
            let interval = Duration::from_ps(interval_ps);
            // Load generators take turns: number `deck.first` of `deck.step` generators starts that
            // fraction of an interval later.
            let offset = interval.div(deck.step.max(1).into()) * u64::from(deck.first);
            pure::Load::Open { interval, varies: arrivals == Arrivals::Poisson, offset, users }
        }
    }
}
