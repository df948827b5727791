use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Fields, ParseError, number};

/// Values that the kernel identifies by their position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    names: &'static [&'static str],
    values: Vec<Option<u64>>,
}

impl Columns {
    /// Values, the first of which have these names, in this order. Further values are ignored.
    #[must_use]
    pub fn new(names: &'static [&'static str], values: Vec<Option<u64>>) -> Self {
        Self { names, values }
    }

    /// Parses decimal numbers; `names` are the names of the first numbers.
    ///
    /// # Errors
    /// A word is not a number.
    pub fn of_words<'a>(
        names: &'static [&'static str],
        words: impl Iterator<Item = &'a str>,
    ) -> Result<Self, ParseError> {
        Ok(Self::new(names, words.take(names.len()).map(number).collect::<Result<_, _>>()?))
    }
}

impl Fields for Columns {
    fn field(&self, name: &str) -> Option<u64> {
        let position = self.names.iter().position(|known| *known == name)?;
        self.values.get(position).copied().flatten()
    }
}

impl Serialize for Columns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.names.iter().zip(&self.values) {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}
