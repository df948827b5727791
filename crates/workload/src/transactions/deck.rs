//! The deck of users. Users are dealt like cards, so that no user has two sessions at once.

use alloc::vec::Vec;
use core::mem;

use super::Random;

/// The registered users of one generator. Generators that share the users each take every `step`-th
/// user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeckConfig {
    /// Number of the generator's first user.
    pub first: u32,
    /// Difference between the numbers of two successive users: the number of generators.
    pub step: u32,
    /// How many users the generator has.
    pub users: u32,
}

/// A shuffled deck. A dealt card is out until [`Self::give_back`]. When all cards of the deck have
/// been dealt, the returned cards are shuffled into a new deck.
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

    /// Deals the next user.
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

    /// Takes back a user whose session has ended.
    pub(super) fn give_back(&mut self, user: u32) {
        self.played.push(user);
    }
}

/// Fisher-Yates shuffle: all orders are equally likely.
fn shuffle(cards: &mut [u32], random: &mut impl Random) {
    for last in (1..cards.len()).rev() {
        cards.swap(last, random.below(last as u32 + 1) as usize);
    }
}
