//! Durations in plans. They are limited, so that sums of durations do not exceed the range of
//! virtual time.

use serde::de::{Deserialize, Deserializer, Error, Unexpected};

/// The longest duration that a plan may have: one day, as in studies. Virtual time covers 213 days,
/// which leaves room for exponential delays of up to 44 times their mean.
pub const SPAN_MAX_NS: u64 = 24 * 3_600 * 1_000_000_000;

/// Reads nanoseconds, and refuses more than [`SPAN_MAX_NS`].
pub(crate) fn ns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let ns = u64::deserialize(deserializer)?;
    if ns > SPAN_MAX_NS {
        let expected = format!("at most a day, {SPAN_MAX_NS} ns");
        return Err(D::Error::invalid_value(Unexpected::Unsigned(ns), &expected.as_str()));
    }
    Ok(ns)
}

#[derive(serde::Deserialize)]
struct Span(#[serde(deserialize_with = "ns")] u64);

/// Like [`ns`], for a list.
pub(crate) fn all_ns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    Ok(Vec::<Span>::deserialize(deserializer)?.into_iter().map(|Span(ns)| ns).collect())
}

/// Like [`ns`], for an optional value.
pub(crate) fn some_ns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<Span>::deserialize(deserializer)?.map(|Span(ns)| ns))
}

#[cfg(test)]
mod tests {
    use crate::{Jitter, Until};

    #[test]
    fn a_day_is_read_and_more_is_refused_with_the_limit() {
        let until = |ns: u64| {
            let text = format!(r#"{{"kind":"time","ns":{ns}}}"#);
            serde_json::from_str::<Until>(&text)
        };
        let day = 86_400_000_000_000;
        assert_eq!(until(day).expect("a day"), Until::Time { ns: day });
        let error = until(day + 1).expect_err("more than a day").to_string();
        assert_eq!(
            error,
            "invalid value: integer `86400000000001`, expected at most a day, 86400000000000 ns"
        );
        let delay = serde_json::from_str::<Jitter>(r#"{"kind":"exponential","mean_ns":1e30}"#);
        assert!(delay.is_err());
    }
}
