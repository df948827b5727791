use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{Network, PlanHead, PlanLine, Run, RunLine, RunRecord, TreatmentPart, Workload};

/// The runs of a plan.
#[derive(Debug, Default)]
pub struct PlannedRuns {
    /// Runs that the engine can make.
    pub sound: Vec<PlannedRun>,
    /// For each run in `sound`: its index in the plan.
    pub places: Vec<usize>,
    /// For each other run: its index in the plan, and its failed record.
    pub failed: Vec<(usize, RunRecord)>,
}

impl PlannedRuns {
    /// Number of runs in the plan.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.sound.len() + self.failed.len()
    }

    /// True if the plan has no run.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A run of a plan. It shares its network, its workload and its treatment with other runs, so that
/// a million runs fit into memory.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    line: RunLine,
    part: Arc<TreatmentPart>,
    network: Arc<Network>,
    workload: Arc<Workload>,
}

impl PlannedRun {
    /// The run with all of its parts.
    #[must_use]
    pub fn run(&self) -> Run {
        let (line, part) = (self.line.clone(), TreatmentPart::clone(&self.part));
        Run {
            id: line.id,
            cases: part.cases,
            treatment: part.treatment,
            replicate: line.replicate,
            seed: line.seed,
            network: Network::clone(&self.network),
            workload: Workload::clone(&self.workload),
            probe: part.probe,
            phases: part.phases,
            instruments: part.instruments,
            trace: line.trace,
        }
    }

    /// Names of the treatment and of the workload: runs with equal names differ only in replicate,
    /// seed and trace.
    #[must_use]
    pub fn kind(&self) -> (&str, &str) {
        (&self.line.of, &self.line.workload)
    }
}

/// Reads a plan. If a part has a number that is too large or small for the engine, only the runs
/// with this part fail, with failed records. Any other error rejects the whole plan.
///
/// # Errors
/// The message says what is wrong, and where.
pub fn read_plan(mut input: impl BufRead) -> Result<PlannedRuns, String> {
    let mut text = Vec::new();
    input.read_until(b'\n', &mut text).map_err(|error| error.to_string())?;
    let head: PlanHead =
        serde_json::from_slice(&text).map_err(|error| format!("line 1: {error}"))?;
    let mut reader = Reader::default();
    for number in 2.. {
        text.clear();
        let read = input.read_until(b'\n', &mut text).map_err(|error| error.to_string())?;
        if read == 0 {
            break;
        }
        reader.take(&text).map_err(|error| format!("line {number}: {error}"))?;
    }
    let runs = reader.runs.len();
    if runs == head.runs {
        Ok(reader.runs)
    } else {
        Err(format!("it ends after {runs} of its {} runs", head.runs))
    }
}

/// A part by its name, or why the engine cannot compute with it.
type Parts<T> = HashMap<String, Result<Arc<T>, String>>;

#[derive(Default)]
struct Reader {
    networks: Parts<Network>,
    workloads: Parts<Workload>,
    treatments: Parts<TreatmentPart>,
    /// The treatments of `treatments` with an error: their levels.
    levels: HashMap<String, Value>,
    runs: PlannedRuns,
}

impl Reader {
    fn take(&mut self, text: &[u8]) -> Result<(), String> {
        match serde_json::from_slice(text) {
            Ok(PlanLine::Network { name, network }) => {
                self.networks.insert(name, Ok(Arc::new(network)));
            }
            Ok(PlanLine::Workload { name, workload }) => {
                self.workloads.insert(name, Ok(Arc::from(workload)));
            }
            Ok(PlanLine::Treatment(part)) => {
                self.treatments.insert(part.name.clone(), Ok(Arc::new(part)));
            }
            Ok(PlanLine::Run(line)) => self.add(line)?,
            Err(error) => self.take_unsound(text, &error.to_string())?,
        }
        Ok(())
    }

    /// Takes a part in which a number is out of range; any other error is returned, with the place
    /// in the part.
    fn take_unsound(&mut self, text: &[u8], said: &str) -> Result<(), String> {
        let line: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let name = line["name"].as_str().unwrap_or_default().to_owned();
        match line["kind"].as_str() {
            Some(kind @ "network") => {
                self.networks.insert(name, Err(unsound::<Network>(&line[kind], kind)?));
            }
            Some(kind @ "workload") => {
                self.workloads.insert(name, Err(unsound::<Workload>(&line[kind], kind)?));
            }
            Some("treatment") => {
                let part = without_kind(&line);
                self.levels.insert(name.clone(), line["treatment"].clone());
                self.treatments.insert(name, Err(unsound::<TreatmentPart>(&part, "")?));
            }
            Some("run") => {
                unsound::<RunLine>(&without_kind(&line), "")?;
                return Err(said.to_owned());
            }
            _ => return Err(said.to_owned()),
        }
        Ok(())
    }

    fn add(&mut self, line: RunLine) -> Result<(), String> {
        let place = self.runs.len();
        match self.parts(&line)? {
            Ok((part, network, workload)) => {
                self.runs.sound.push(PlannedRun { line, part, network, workload });
                self.runs.places.push(place);
            }
            Err((treatment, why)) => {
                let record = failed(&line, &treatment, &why).map_err(|error| error.to_string())?;
                self.runs.failed.push((place, record));
            }
        }
        Ok(())
    }

    /// The parts of a run; if the engine cannot compute with one: the treatment, and why.
    #[expect(clippy::type_complexity, reason = "read by one caller")]
    fn parts(
        &self,
        line: &RunLine,
    ) -> Result<Result<(Arc<TreatmentPart>, Arc<Network>, Arc<Workload>), (Value, String)>, String>
    {
        let part = match named(&self.treatments, "treatment", &line.of)? {
            Ok(part) => part,
            Err(why) => return Ok(Err((self.levels[&line.of].clone(), why.clone()))),
        };
        let treatment = || Value::Object(part.treatment.clone());
        let network = named(&self.networks, "network", &part.network)?;
        let workload = named(&self.workloads, "workload", &line.workload)?;
        Ok(match (network, workload) {
            (Ok(network), Ok(workload)) => {
                Ok((Arc::clone(part), Arc::clone(network), Arc::clone(workload)))
            }
            (Err(why), _) | (_, Err(why)) => Err((treatment(), why.clone())),
        })
    }
}

fn named<'parts, T>(
    parts: &'parts Parts<T>,
    kind: &str,
    name: &str,
) -> Result<&'parts Result<Arc<T>, String>, String> {
    parts.get(name).ok_or_else(|| format!("no line before it is the {kind} {name}"))
}

fn without_kind(line: &Value) -> Value {
    let mut fields = line.as_object().cloned().unwrap_or_default();
    fields.remove("kind");
    Value::Object(fields)
}

/// Why the engine cannot compute with a part, if a number in it is out of range.
fn unsound<T: DeserializeOwned>(value: &Value, field: &str) -> Result<String, String> {
    let Err(error) = serde_path_to_error::deserialize::<_, T>(value) else {
        return Err("it cannot be read".to_owned());
    };
    let dot = if field.is_empty() { "" } else { "." };
    let said = format!("{field}{dot}{error}");
    // This text is the only sign by which serde reports a number out of range.
    if !said.contains("invalid value: integer") {
        return Err(said);
    }
    let why = said
        .replace("expected u32", &format!("expected 0 to {}", u32::MAX))
        .replace("expected u16", &format!("expected 0 to {}", u16::MAX));
    Ok(format!("the simulator cannot compute with {why}"))
}

fn failed(line: &RunLine, treatment: &Value, why: &str) -> serde_json::Result<RunRecord> {
    serde_json::from_value(json!({
        "run": line.id,
        "treatment": treatment,
        "replicate": line.replicate,
        "seed": line.seed,
        "status": "failed",
        "error": why,
        "checks": [],
    }))
}
