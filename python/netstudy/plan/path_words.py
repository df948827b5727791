"""Links in words: delay, queue, loss, jitter."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from netstudy import wire
from netstudy.units import FINE_PERCENT, format_duration, format_in

TimeText = Callable[[int], str]


def link_words(link: wire.Link, time_text: TimeText = format_duration) -> str:
    """Delay, queue, loss, jitter and duplicates of a link, in each direction if the two differ.
    `time_text` formats nanoseconds."""
    there, back = (", ".join(_words(link, port, time_text)) for port in link.ports)
    return there if there == back else f"{there} out; {back} back"


def _words(link: wire.Link, port: wire.Port, time_text: TimeText) -> Iterator[str]:
    yield time_text(link.delay_from_ns(port))
    if port.queue is not None:
        yield port.queue.kind
    path = port.path
    if path is None:
        return
    if path.loss is not None:
        yield _loss(path.loss)
    if path.duplicate_ppm:
        yield f"{_share(path.duplicate_ppm)} duplicated"
    if path.jitter.kind != "none":
        yield f"{_jitter(path.jitter, time_text)}{' that reorders' if path.reorders else ''}"


def _loss(loss: wire.Loss) -> str:
    if loss.kind == "independent":
        return f"{_share(loss.share_ppm)} lost"
    bad, good = _share(loss.to_bad_ppm), _share(loss.to_good_ppm)
    lost = f"{_share(loss.in_bad_ppm)} lost in bursts"
    also = f", {_share(loss.in_good_ppm)} between them" if loss.in_good_ppm else ""
    return f"{lost}{also} (they begin at {bad} and end at {good} of the frames)"


def _jitter(jitter: wire.Jitter, time_text: TimeText) -> str:
    if jitter.kind == "exponential":
        return f"exponential jitter of {time_text(jitter.mean_ns)} on average"
    if jitter.kind == "uniform":
        return f"uniform jitter up to {time_text(jitter.max_ns)}"
    return "no jitter"


def _share(ppm: int) -> str:
    return format_in(FINE_PERCENT, ppm)
