//! Reads a plan. If a run has a number that is too large or small for the engine, only this run
//! fails, with a failed record. Any other error rejects the whole plan.

use netstudy_records::{Plan, PlanSchema, Run, RunRecord};
use serde::Deserialize;
use serde_json::{Value, json};

/// The runs of a plan.
pub(crate) struct Runs {
    /// Runs that the engine can make.
    pub(crate) sound: Vec<Run>,
    /// For each run in `sound`: its index in the plan.
    pub(crate) places: Vec<usize>,
    /// For each other run: its index in the plan, and its failed record.
    pub(crate) failed: Vec<(usize, RunRecord)>,
}

impl Runs {
    /// Number of runs in the plan.
    pub(crate) const fn len(&self) -> usize {
        self.sound.len() + self.failed.len()
    }
}

/// A plan whose runs have not been parsed yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outline {
    #[serde(rename = "schema")]
    _schema: PlanSchema,
    #[serde(rename = "study")]
    _study: String,
    #[serde(rename = "seed")]
    _seed: i64,
    runs: Vec<Value>,
}

/// Parses the plan in `text`.
///
/// # Errors
/// The message says what is wrong, and where.
pub(crate) fn read(text: &str) -> Result<Runs, String> {
    match serde_json::from_str::<Plan>(text) {
        Ok(Plan { runs, .. }) => {
            Ok(Runs { places: (0..runs.len()).collect(), sound: runs, failed: Vec::new() })
        }
        Err(error) => one_by_one(text).unwrap_or_else(|| Err(error.to_string())),
    }
}

/// Parses each run separately; `None` if the plan has an error outside its runs.
fn one_by_one(text: &str) -> Option<Result<Runs, String>> {
    let outline: Outline = serde_json::from_str(text).ok()?;
    let mut found = Runs { sound: Vec::new(), places: Vec::new(), failed: Vec::new() };
    for (place, value) in outline.runs.into_iter().enumerate() {
        match serde_path_to_error::deserialize::<_, Run>(&value) {
            Ok(run) => {
                found.sound.push(run);
                found.places.push(place);
            }
            Err(error) => match failed(&value, &error.to_string()) {
                Some(record) => found.failed.push((place, record)),
                None => return Some(Err(format!("runs[{place}].{error}"))),
            },
        }
    }
    Some(Ok(found))
}

/// The failed record of a run in which a number is out of range. `None` if the error is a different
/// one, or if the run has no valid identity.
fn failed(run: &Value, said: &str) -> Option<RunRecord> {
    // This text is the only sign by which serde reports a number out of range.
    if !said.contains("invalid value: integer") {
        return None;
    }
    let why = said
        .replace("expected u32", &format!("expected 0 to {}", u32::MAX))
        .replace("expected u16", &format!("expected 0 to {}", u16::MAX));
    serde_json::from_value(json!({
        "run": run["id"],
        "treatment": run["treatment"],
        "replicate": run["replicate"],
        "seed": run["seed"],
        "status": "failed",
        "error": format!("the simulator cannot compute with {why}"),
        "checks": [],
    }))
    .ok()
}
