//! The fast path: segments of a connection that is open both ways and has no special options.
//!
//! On many connections, most of the checks for each segment have the same result for as long as the
//! connection is open: no FIN is due, there are no congestion marks, no bursts, no small queue and
//! no quick acknowledgments, and loss recovery is that of the RFCs. For such connections the
//! functions that handle a segment are compiled a second time, without these checks: they have a
//! parameter `FAST`.

use super::{Endpoint, State};

impl Endpoint {
    /// Whether the connection meets the conditions of the fast path. The answer can change only
    /// when the connection opens and when it begins to close, so it is stored in the field
    /// `fast_path`. Unread data and a zero-window probe also end the fast path.
    pub(super) fn may_take_fast_path(&self) -> bool {
        self.state == State::Established
            && self.sends_freely
            && self.peer_fin_at.is_none()
            && self.recovery.has_fast_path()
            && self.config.offload_bytes == 0
            && self.config.quick_ack_segments == 0
            && !self.config.ack_pushed
            && !self.ecn.on
    }

    /// Whether a segment takes the fast path now.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn takes_fast_path(&self) -> bool {
        debug_assert!(!self.fast_path || self.may_take_fast_path(), "a change was not noted");
        self.fast_path
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;
    use std::{format, vec};

    use netstudy_units::{Duration, Time};
    use proptest::prelude::*;

    use super::super::receive::tests::CONFIG;
    use super::*;
    use crate::{Config, Segment};

    /// An endpoint, and a twin that gets the same events but never takes the fast path.
    #[derive(Clone)]
    struct Twins {
        fast: Endpoint,
        slow: Endpoint,
    }

    impl Twins {
        fn new(end: Endpoint) -> Self {
            Self { slow: end.clone(), fast: end }
        }

        fn hear(&mut self, now: Time, segment: &Segment) {
            self.fast.handle_segment(now, segment);
            self.slow.handle_any(now, segment);
        }

        /// Applies `act` to both endpoints.
        fn act(&mut self, act: impl Fn(&mut Endpoint)) {
            act(&mut self.fast);
            act(&mut self.slow);
        }

        /// Sends everything that is due. Both endpoints must send the same segments and end in the
        /// same state.
        fn send(&mut self, now: Time) -> Result<Vec<Segment>, TestCaseError> {
            self.slow.fast_path = false;
            let mut sent = vec![];
            if self.fast.has_only_acks() {
                sent.extend(self.fast.poll_ack(now));
            } else if !self.fast.send_news(now, &mut sent) {
                sent.extend(core::iter::from_fn(|| self.fast.poll_transmit(now)));
            }
            for &segment in &sent {
                prop_assert_eq!(self.slow.poll_transmit(now), Some(segment));
            }
            prop_assert_eq!(self.slow.poll_transmit(now), None);
            let fast = Endpoint { fast_path: false, ..self.fast.clone() };
            prop_assert_eq!(format!("{fast:?}"), format!("{:?}", self.slow));
            Ok(sent)
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// The oldest segment in flight from this end arrives.
        Deliver,
        /// The oldest segment in flight is lost.
        Lose,
        /// The oldest segment in flight is delayed behind the others.
        Delay,
        Write(u64),
        Timeout,
        Close,
    }

    fn step() -> impl Strategy<Value = (usize, Step)> {
        let step = prop_oneof![
            60 => Just(Step::Deliver),
            4 => Just(Step::Lose),
            3 => Just(Step::Delay),
            4 => (1u64..40_000).prop_map(Step::Write),
            3 => Just(Step::Timeout),
            1 => Just(Step::Close),
        ];
        (0..2usize, step)
    }

    fn config() -> impl Strategy<Value = Config> {
        (any::<bool>(), any::<bool>(), 3_000u32..60_000, 3_000u32..60_000).prop_map(
            |(sack, timestamps, send_buffer_bytes, receive_buffer_bytes)| Config {
                sack,
                timestamps,
                send_buffer_bytes,
                receive_buffer_bytes,
                quick_ack_segments: 0,
                ..CONFIG
            },
        )
    }

    proptest! {
        #[test]
        fn the_fast_path_is_only_shorter(
            config in config(),
            steps in prop::collection::vec(step(), 1..300),
        ) {
            let ends = [Endpoint::connect(config), Endpoint::listen(config)];
            let mut ends = ends.map(Twins::new);
            let mut ways = [ends[0].send(Time::ZERO)?, vec![]];
            let handshake = [(0, Step::Deliver), (1, Step::Deliver), (0, Step::Deliver)];
            let mut now = Time::ZERO;
            for (side, step) in handshake.into_iter().chain(steps) {
                now += Duration::from_us(70);
                let mut sender = side;
                match step {
                    Step::Deliver | Step::Lose | Step::Delay if ways[side].is_empty() => continue,
                    Step::Deliver => {
                        let segment = ways[side].remove(0);
                        sender = 1 - side;
                        ends[sender].hear(now, &segment);
                    }
                    Step::Lose => drop(ways[side].remove(0)),
                    Step::Delay => ways[side].rotate_left(1),
                    Step::Write(bytes) => ends[side].act(|end| end.write(now, bytes)),
                    Step::Timeout => {
                        let due = ends[side].fast.next_timeout();
                        if due == Time::NEVER {
                            continue;
                        }
                        now = now.max(due);
                        ends[side].act(|end| end.handle_timeout(now));
                    }
                    Step::Close => ends[side].act(Endpoint::close),
                }
                let sent = ends[sender].send(now)?;
                ways[sender].extend(sent);
            }
        }
    }
}
