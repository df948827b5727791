//! The contents of pages.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::market::Summary;
use crate::rows::{Account, Holding, Order, Profile, Quote};

/// The contents of a page.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    /// Orders that were closed since the user last saw them.
    pub(crate) alerts: Vec<Order>,
    #[serde(flatten)]
    pub(crate) view: View,
}

/// The contents that only pages of this operation have.
#[derive(Debug, Serialize)]
#[serde(tag = "page", rename_all = "kebab-case")]
pub(crate) enum View {
    Home {
        account: Account,
        holdings: Vec<Holding>,
        #[serde(serialize_with = "shared")]
        market: Arc<Summary>,
    },
    Goodbye {},
    Quotes {
        quotes: Vec<Quote>,
        unknown: Vec<String>,
    },
    Portfolio {
        holdings: Vec<PricedHolding>,
    },
    Account {
        account: Account,
        profile: Profile,
    },
    Order {
        order: Order,
    },
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct PricedHolding {
    #[serde(flatten)]
    pub(crate) holding: Holding,
    /// Current price of the quote; none: the quote no longer exists.
    pub(crate) price_cents: Option<i64>,
}

fn shared<S: Serializer>(summary: &Arc<Summary>, serializer: S) -> Result<S::Ok, S::Error> {
    summary.serialize(serializer)
}
