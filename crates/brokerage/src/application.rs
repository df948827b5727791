//! Data that all requests share, apart from the database.

use netstudy_records::BrokerageSettings;

use crate::counters::Counters;
use crate::database::keys::Keys;
use crate::market::Market;

/// Data that all requests share, apart from the database.
#[derive(Debug)]
pub(crate) struct Application {
    pub(crate) settings: BrokerageSettings,
    pub(crate) counters: Counters,
    pub(crate) market: Market,
    pub(crate) keys: Keys,
}
