//! Users, an application server and its database.

use netstudy_records as records;
use netstudy_records::{Samples, Transactions};

use super::{Applications, Stage, Workload};
use crate::applications::Cast;
use crate::measure::Sampled;
use crate::wiring::Wiring;

impl Workload for Transactions {
    fn cast(&self) -> Result<Cast, String> {
        Err("the simulator does not carry transactions out yet".to_owned())
    }

    fn packets_per_sample(&self, _run: &records::Run) -> u64 {
        0
    }

    fn add_samples(&self, _sampled: &Sampled, _tables: &mut Samples) {}
}

impl Applications for Transactions {
    fn perform<S: Stage>(
        &self,
        _run: &records::Run,
        _cast: &Cast,
        _wiring: &Wiring,
        _stage: S,
    ) -> Result<S::Done, String> {
        Err("the simulator does not carry transactions out yet".to_owned())
    }
}
