//! The deck of users: dealt like cards, so that no user has two sessions at once.

use alloc::vec::Vec;
use core::mem;

use super::Random;

/// The registered users that one generator deals. Generators that share the users take every `step`-th one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeckConfig {
    /// Number of its first user.
    pub first: u32,
    /// From one user to the next: the number of generators.
    pub step: u32,
    /// How many users it has.
    pub users: u32,
}

/// A shuffled deck. A card is out from when it is dealt until it is given back; cards that were given back
/// are shuffled into a new deck once all others have been dealt.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    undealt: Vec<u32>,
    played: Vec<u32>,
}

impl Deck {
    pub(super) fn new(config: DeckConfig, random: &mut impl Random) -> Self {
        let card = |number| config.first + config.step * number;
        let mut undealt: Vec<u32> = (0..config.users).map(card).collect();
        shuffle(&mut undealt, random);
        Self { undealt, played: Vec::new() }
    }

    /// The next user.
    ///
    /// # Panics
    /// When all users are out.
    pub(super) fn deal(&mut self, random: &mut impl Random) -> u32 {
        if self.undealt.is_empty() {
            mem::swap(&mut self.undealt, &mut self.played);
            shuffle(&mut self.undealt, random);
        }
        self.undealt.pop().expect("a deck has at least one user a client")
    }

    /// The session of a user has ended.
    pub(super) fn give_back(&mut self, user: u32) {
        self.played.push(user);
    }
}

/// Fisher and Yates: each order is as likely.
fn shuffle(cards: &mut [u32], random: &mut impl Random) {
    for last in (1..cards.len()).rev() {
        cards.swap(last, random.below(last as u32 + 1) as usize);
    }
}
