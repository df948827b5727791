//! `docs/reference/probes.md` describes every counter.
//!
//! To write its table: `PROBES_WRITE=1 cargo test -p netstudy-probe --test it reference`.

use std::fmt::Write;
use std::path::PathBuf;

use netstudy_probe::{Counter, Kind, Source, Unit};

const START: &str = "<!-- Written from crates/probe/src/vocabulary; changes below are lost. -->\n";

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/probes.md")
}

fn tables() -> String {
    let mut text = String::new();
    for source in Source::ALL {
        let place = source.place();
        let head = "| name | kernel's field | behaves as | meaning |\n|---|---|---|---|";
        writeln!(text, "\n### `{place}`\n\n{head}").unwrap();
        for counter in source.counters() {
            let Counter { name, field, meaning, .. } = counter;
            let behaves = behaves(counter);
            writeln!(text, "| `{name}` | `{field}` | {behaves} | {meaning} |").unwrap();
        }
    }
    text
}

fn behaves(counter: &Counter) -> String {
    let kind = match counter.kind {
        Kind::Counter(bits) => format!("counter, {bits} bits"),
        Kind::Corrected => "counter, corrected".to_owned(),
        Kind::Gauge => "state".to_owned(),
    };
    let unit = match counter.unit {
        Unit::Same => "",
        Unit::Ticks => ", told in ticks",
        Unit::Sectors => ", told in sectors",
        Unit::Kibibytes => ", told in 1024 bytes",
        Unit::Pages => ", told in pages",
    };
    format!("{kind}{unit}")
}

#[test]
fn the_page_tells_of_every_counter() {
    let text = std::fs::read_to_string(page()).unwrap();
    let (written, _) = text.split_once(START).expect("the mark of what is generated");
    let expected = format!("{written}{START}{}", tables());
    if std::env::var_os("PROBES_WRITE").is_some() {
        std::fs::write(page(), &expected).unwrap();
    }

    assert!(text == expected || std::env::var_os("PROBES_WRITE").is_some(), "the page is old");
}

#[test]
fn a_name_means_one_thing() {
    let mut seen: Vec<(Source, &Counter)> = Vec::new();
    for source in Source::ALL {
        for counter in source.counters() {
            for (other, same) in seen.iter().filter(|(_, known)| known.name == counter.name) {
                assert_eq!((*other, same.kind, same.unit), (source, counter.kind, counter.unit));
                assert_ne!(same.field, counter.field);
            }
            seen.push((source, counter));
        }
    }
}
