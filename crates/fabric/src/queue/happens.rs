use crate::Chance;

/// Draws an event of this probability.
pub(super) fn happens(probability: f64, chance: &mut impl Chance) -> bool {
    const DRAWS: u32 = 1 << 31;
    f64::from(chance.below(DRAWS)) < probability * f64::from(DRAWS)
}
