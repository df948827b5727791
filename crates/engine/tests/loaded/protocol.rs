//! The engine as its front sees it: a plan in, records out.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};

use netstudy_records::{
    Link, Mode, Node, PhaseKind, PlanHead, PlanLine, PlanSchema, Record, Run, RunLine, Status,
    TreatmentPart, Until, Workload, read_plan,
};

fn engine(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_netstudy-engine"))
        .arg("sim")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the engine starts")
}

fn run(arguments: &[&str], plan: &str) -> Output {
    let mut child = engine(arguments);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(plan.as_bytes()).expect("the engine reads its plan");
    drop(stdin);
    child.wait_with_output().expect("the engine ends")
}

/// The runs of the plan that both languages are tested against, with few iterations.
fn planned() -> Vec<Run> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/examples/plan.jsonl");
    let text = std::fs::read(path).expect("the example is there");
    let example = read_plan(&text[..]).expect("the example is a plan").sound;
    let mut runs: Vec<Run> = example.iter().map(netstudy_records::PlannedRun::run).collect();
    let base = runs.clone();
    for (place, seed) in ["aa", "bb", "cc"].iter().enumerate() {
        runs.extend(base.iter().cloned().map(|mut run| {
            run.id = format!("{place}{}", &run.id[1..]);
            run.seed = format!("{seed}{}", &run.seed[2..]);
            run
        }));
    }
    for (place, run) in runs.iter_mut().enumerate() {
        // The first run of the plan is the longest one, so that others end before it.
        set_iterations(run, if place == 0 { 200 } else { 20 });
    }
    runs
}

/// The text of a plan in which each run has parts of its own.
fn text_of(runs: &[Run]) -> String {
    let head =
        PlanHead { schema: PlanSchema::V3, study: "incast".to_owned(), seed: 1, runs: runs.len() };
    let lines = runs.iter().flat_map(lines_of).map(|line| to_text(&line));
    std::iter::once(to_text(&head)).chain(lines).collect()
}

fn lines_of(run: &Run) -> [PlanLine; 4] {
    let (name, run) = (run.id.clone(), run.clone());
    [
        PlanLine::Network { name: name.clone(), network: run.network },
        PlanLine::Workload { name: name.clone(), workload: Box::new(run.workload) },
        PlanLine::Treatment(TreatmentPart {
            name: name.clone(),
            cases: run.cases,
            treatment: run.treatment,
            network: name.clone(),
            probe: run.probe,
            phases: run.phases,
            instruments: run.instruments,
        }),
        PlanLine::Run(RunLine {
            id: run.id,
            of: name.clone(),
            workload: name,
            replicate: run.replicate,
            seed: run.seed,
            trace: run.trace,
        }),
    ]
}

fn to_text(line: &impl serde::Serialize) -> String {
    serde_json::to_string(line).expect("a line is JSON") + "\n"
}

/// Measures `count` iterations.
fn set_iterations(run: &mut Run, count: u32) {
    for phase in run.phases.iter_mut().filter(|phase| phase.kind == PhaseKind::Measure) {
        phase.until = Some(Until::Count { count });
    }
}

fn plan_text() -> String {
    text_of(&planned())
}

fn records(stdout: &[u8]) -> Vec<Record> {
    let lines = stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("a line is a record")).collect()
}

fn run_ids(records: &[Record]) -> Vec<String> {
    let id = |record: &Record| match record {
        Record::Run(run) => Some(run.run.clone()),
        _ => None,
    };
    records.iter().filter_map(id).collect()
}

#[test]
fn records_come_in_the_order_of_the_plan_between_engine_and_end() {
    let output = run(&["--threads", "2"], &plan_text());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let records = records(&output.stdout);
    assert!(matches!(records.first(), Some(Record::Engine { .. })));
    assert!(matches!(records.last(), Some(Record::End { runs: 8 })));
    let planned: Vec<_> = planned().into_iter().map(|run| run.id).collect();
    assert_eq!(run_ids(&records), planned);
    for record in &records {
        if let Record::Run(run) = record {
            assert_eq!(run.status, Status::Ok, "{:?}", run.error);
        }
    }
}

#[test]
fn a_run_that_cannot_be_simulated_is_a_failed_record_and_costs_no_other() {
    let mut runs = planned();
    // Out of the range of virtual time.
    runs[2].network.links[0].delay_ns = u64::MAX;
    let failed = runs[2].id.clone();

    let output = run(&["--threads", "2"], &text_of(&runs));

    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let records = records(&output.stdout);
    assert!(matches!(records.last(), Some(Record::End { runs: 8 })));
    for record in &records {
        if let Record::Run(run) = record {
            let expected = if run.run == failed { Status::Failed } else { Status::Ok };
            assert_eq!(run.status, expected, "{:?}", run.error);
            assert_eq!(run.error.is_some(), run.run == failed);
        }
    }
}

/// The plan with one number of one run changed, and its records.
fn with_number(pointer: &str, number: u64) -> Output {
    let text = plan_text();
    let mut lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    // Four lines a run after the head; the network is the first of them.
    *lines[9].pointer_mut(&format!("/{pointer}")).expect("it is there") = number.into();
    let changed: String = lines.iter().map(to_text).collect();
    run(&["--threads", "2"], &changed)
}

#[test]
fn a_number_beyond_what_the_engine_counts_with_is_its_runs_failed_record_with_the_limit() {
    for (pointer, number, said) in [
        ("network/groups/0/tcp/send_buffer_bytes", 5_000_000_000, "expected 0 to 4294967295"),
        ("network/groups/0/nic/pause_quanta", 65_536, "expected 0 to 65535"),
        ("network/links/0/delay_ns", 20_000_000_000_000_000, "expected at most a day"),
        ("network/groups/0/tcp/max_rto_ns", u64::MAX, "expected at most a day"),
    ] {
        let output = with_number(pointer, number);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let records = records(&output.stdout);
        let planned: Vec<_> = planned().into_iter().map(|run| run.id).collect();
        assert_eq!(run_ids(&records), planned, "in the order of the plan");
        assert!(matches!(records.last(), Some(Record::End { runs: 8 })));
        for (place, record) in records[1..9].iter().enumerate() {
            let Record::Run(run) = record else { panic!("{record:?}") };
            let error = run.error.clone().unwrap_or_default();
            let (status, message) =
                if place == 2 { (Status::Failed, said) } else { (Status::Ok, "") };
            assert_eq!(run.status, status, "{error}");
            assert!(error.contains(message), "{error}");
            let field = pointer.rsplit('/').next().expect("a name");
            assert!(place != 2 || error.contains(field), "{error}");
        }
    }
}

#[test]
fn what_is_no_run_is_refused_with_its_place_in_the_plan() {
    let plan = plan_text().replacen("\"mtu_bytes\":", "\"mtu\":", 1);
    let output = run(&[], &plan);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("line 2: network.links[0].mtu: unknown field `mtu`"), "{message}");
}

#[test]
fn one_thread_and_two_give_the_same_bytes_and_so_does_a_second_time() {
    let plan = plan_text();
    let one = run(&["--threads", "1"], &plan).stdout;
    assert_eq!(one, run(&["--threads", "2"], &plan).stdout);
    assert_eq!(one, run(&["--threads", "2"], &plan).stdout);
}

/// The run over two switches with a link between them: the client's, and that of all servers.
fn over_a_dumbbell(mut run: Run) -> Run {
    let switch = |node: &Node| matches!(node, Node::Switch(_));
    let mut far = run.network.nodes.iter().find(|node| switch(node)).expect("one").clone();
    let Node::Switch(other) = &mut far else { unreachable!() };
    let near = std::mem::replace(&mut other.name, "far".to_owned());
    run.network.nodes.push(far);
    let mut middle = run.network.links[0].clone();
    for (end, node, port) in [(&mut middle.a, near.as_str(), "far"), (&mut middle.b, "far", &near)]
    {
        (end.node, end.name, end.nic) = (node.to_owned(), port.to_owned(), None);
    }
    let ends = |link: &Link| [link.a.node.clone(), link.b.node.clone()];
    for link in &mut run.network.links {
        if ends(link).iter().any(|node| node.starts_with("server")) {
            for end in [&mut link.a, &mut link.b].into_iter().filter(|end| end.node == near) {
                "far".clone_into(&mut end.node);
            }
        }
    }
    run.network.links.push(middle);
    run
}

/// The client and one server of the run, joined by a direct link.
fn over_a_direct_link(mut run: Run) -> Run {
    let Workload::Incast(incast) = &mut run.workload else { panic!("an incast") };
    incast.roles.server.truncate(1);
    let ends = [incast.roles.client[0].clone(), incast.roles.server[0].clone()];
    run.network.nodes.retain(|node| ends.iter().any(|end| end == node.name()));
    let mut link = run.network.links[0].clone();
    for (end, node) in [&mut link.a, &mut link.b].into_iter().zip(ends) {
        end.node = node;
        "eth0".clone_into(&mut end.name);
        end.nic = None;
    }
    run.network.links = vec![link];
    run
}

#[test]
fn one_thread_and_two_give_the_same_bytes_on_networks_that_are_no_star() {
    let base = planned();
    let mut runs: Vec<Run> = base.iter().cloned().map(over_a_dumbbell).collect();
    runs.extend(base.into_iter().map(|mut run| {
        run.id = format!("d{}", &run.id[1..]);
        over_a_direct_link(run)
    }));
    let count = runs.len();
    let text = text_of(&runs);
    let one = run(&["--threads", "1"], &text).stdout;
    let made = records(&one).into_iter().filter_map(|record| match record {
        Record::Run(run) => Some(run),
        _ => None,
    });
    let made: Vec<_> = made.collect();
    assert_eq!(made.len(), count);
    for record in &made {
        assert_eq!(record.status, Status::Ok, "{:?} {:?}", record.error, record.checks);
        assert_eq!(record.mode, Some(Mode::PerHop), "it is no star");
    }
    assert_eq!(one, run(&["--threads", "2"], &text).stdout);
}

#[test]
fn as_completed_gives_the_same_records_in_another_order() {
    let plan = plan_text();
    let sorted = |output: Output| {
        let mut lines: Vec<_> =
            output.stdout.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort();
        lines
    };
    let in_order = sorted(run(&[], &plan));
    assert_eq!(in_order, sorted(run(&["--as-completed"], &plan)));
}

#[test]
fn progress_counts_useful_packets_and_is_not_written_unasked() {
    let mut runs = planned();
    for run in &mut runs {
        set_iterations(run, 500);
    }
    let text = text_of(&runs);
    let output = run(&["--progress-ms", "1"], &text);
    let progress: Vec<_> = records(&output.stdout)
        .into_iter()
        .filter_map(|record| match record {
            Record::Progress { packets, packets_planned, runs, .. } => {
                Some((packets, packets_planned, runs))
            }
            _ => None,
        })
        .collect();
    assert!(!progress.is_empty(), "five hundred iterations take more than a millisecond");
    assert!(progress.is_sorted());
    assert!(progress.iter().all(|&(packets, planned, runs)| packets <= planned && runs == 8));
}

#[test]
fn what_is_no_plan_is_refused_with_its_place() {
    for (plan, expected) in [
        ("", "line 1: EOF while parsing a value at line 1 column 0"),
        ("{\"schema\": \"netstudy/plan/2\"}", "unknown variant `netstudy/plan/2`"),
        ("{\"scema\": 1}", "unknown field `scema`"),
    ] {
        let output = run(&[], plan);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty(), "nothing is written for a plan that cannot be read");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains(expected), "{message}");
        assert!(message.contains("the plan on standard input"), "{message}");
    }
}

#[test]
fn the_engine_ends_when_nobody_reads_any_more() {
    let mut runs = planned();
    for run in &mut runs {
        // Days of work, if it went on.
        set_iterations(run, 100_000_000);
    }
    let mut child = engine(&["--progress-ms", "5"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(text_of(&runs).as_bytes()).expect("it reads");
    drop(stdin);
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("the first record");
    drop(stdout);
    let status = child.wait().expect("the engine ends");
    assert_eq!(status.code(), Some(3));
}
