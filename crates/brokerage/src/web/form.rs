//! Fields of forms and of query strings (application/x-www-form-urlencoded, URL Standard 5).

use crate::problem::Problem;

/// Largest size of a field, in bytes.
const FIELD_MAX: usize = 250;
/// Largest opening balance, small enough that sums of balances cannot overflow.
const MONEY_CENTS_MAX: i64 = 1_000_000_000_000;

/// The fields of a form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Parses `name=value&name=value`. Each `%` must be followed by two hexadecimal digits, and the decoded
    /// texts must be UTF-8.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Problem> {
        let fields = text.split(|&byte| byte == b'&').filter(|field| !field.is_empty());
        fields
            .map(|field| {
                let mut parts = field.splitn(2, |&byte| byte == b'=');
                let name = decoded(parts.next().unwrap_or_default())?;
                Ok((name, decoded(parts.next().unwrap_or_default())?))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn optional(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a required field: not empty, and at most [`FIELD_MAX`] bytes long.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Problem> {
        self.optional(name)
            .filter(|value| !value.is_empty() && value.len() <= FIELD_MAX)
            .ok_or(Problem::BadForm)
    }

    /// A required field with a whole number.
    pub(crate) fn number(&self, name: &str) -> Result<i64, Problem> {
        self.text(name)?.parse().map_err(|_| Problem::BadForm)
    }

    /// A required field with a non-negative amount of money, with or without cents.
    pub(crate) fn cents(&self, name: &str) -> Result<i64, Problem> {
        let text = self.text(name)?;
        let (whole, part) = text.split_once('.').unwrap_or((text, "00"));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || part.len() != 2 || !is_number(whole) || !is_number(part) {
            return Err(Problem::BadForm);
        }
        let cents = format!("{whole}{part}").parse().map_err(|_| Problem::BadForm)?;
        if cents > MONEY_CENTS_MAX { Err(Problem::BadForm) } else { Ok(cents) }
    }
}

fn decoded(text: &[u8]) -> Result<String, Problem> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || {
                    let digit = rest.next().copied().map(char::from)?;
                    digit.to_digit(16).map(|digit| digit as u8)
                };
                let (high, low) = (digit(), digit());
                high.zip(low).map(|(high, low)| high << 4 | low).ok_or(Problem::BadForm)?
            }
            other => other,
        });
    }
    // PostgreSQL does not accept texts with a null character.
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or(Problem::BadForm)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> Form {
        Form::parse(text.as_bytes()).expect("the form is well formed")
    }

    #[test]
    fn fields_are_decoded() {
        let form = form("symbol=s%3A1&fullname=Ann+O%27Hara&&empty=");
        assert_eq!(form.text("symbol"), Ok("s:1"));
        assert_eq!(form.text("fullname"), Ok("Ann O'Hara"));
        assert_eq!(form.text("empty"), Err(Problem::BadForm));
        assert_eq!(form.text("missing"), Err(Problem::BadForm));
    }

    #[test]
    fn a_malformed_form_is_refused() {
        for text in ["a=%", "a=%4", "a=%zz", "a=%ff", "a=%00"] {
            assert_eq!(Form::parse(text.as_bytes()), Err(Problem::BadForm), "{text}");
        }
        assert_eq!(form(&format!("a={}", "x".repeat(251))).text("a"), Err(Problem::BadForm));
    }

    #[test]
    fn money_is_read_to_the_cent() {
        assert_eq!(form("b=1000000").cents("b"), Ok(100_000_000));
        assert_eq!(form("b=12.05").cents("b"), Ok(1_205));
        for text in ["-1", "1.5", "1.005", ".50", "1e3", "x", "99999999999999999999", "+5"] {
            assert_eq!(form(&format!("b={text}")).cents("b"), Err(Problem::BadForm), "{text}");
        }
    }
}
