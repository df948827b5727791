//! `/proc/net/snmp` and `/proc/net/netstat` (`net/ipv4/proc.c`): pairs of lines. In each pair, the
//! first line has the names of a group of counters, and the second line has their values.

use super::{Fields, ParseError, number};

/// Counters by group and name, for example `Tcp RetransSegs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mib<'a>(Vec<Group<'a>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Group<'a> {
    name: &'a str,
    counters: Vec<(&'a str, Option<u64>)>,
}

impl Fields for Mib<'_> {
    fn field(&self, name: &str) -> Option<u64> {
        let (group, counter) = name.split_once(' ')?;
        let group = self.0.iter().find(|known| known.name == group)?;
        group.counters.iter().find(|(known, _)| *known == counter)?.1
    }
}

/// Parses the text of such a file.
///
/// # Errors
/// A line has no second line, there are more names than values or fewer, or a value is not a
/// number.
pub fn parse(text: &str) -> Result<Mib<'_>, ParseError> {
    let mut lines = text.lines();
    let mut groups = Vec::new();
    while let Some(names) = lines.next() {
        groups.push(group(names, lines.next().unwrap_or_default())?);
    }
    Ok(Mib(groups))
}

fn group<'a>(names: &'a str, values: &'a str) -> Result<Group<'a>, ParseError> {
    let split = |line: &'a str| {
        line.split_once(':').ok_or_else(|| ParseError::new("a group's name before a colon", line))
    };
    let ((name, names), (again, values)) = (split(names)?, split(values)?);
    if name != again {
        return Err(ParseError::new("the values of the group named before", again));
    }
    let names: Vec<&str> = names.split_ascii_whitespace().collect();
    let values: Vec<&str> = values.split_ascii_whitespace().collect();
    if names.len() != values.len() {
        return Err(ParseError::new("as many values as names", name));
    }
    let counter = |(name, value)| Ok((name, number(value)?));
    let counters = names.into_iter().zip(values).map(counter).collect::<Result<_, ParseError>>()?;
    Ok(Group { name, counters })
}
