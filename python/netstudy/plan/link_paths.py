"""From the delay, loss and jitter of a link in a study to its two directions on the wire."""

from __future__ import annotations

from netstudy import wire
from netstudy.plan.jitter import wire_jitter
from netstudy.study.references import concrete
from netstudy.study.topology import (
    Bursts,
    DelayEachWay,
    LinkProperties,
    LossEachWay,
    OneWayLoss,
)

_PERFECT = wire.LinkPath()


def paths_of(link: LinkProperties) -> tuple[int, wire.LinkPath | None, wire.LinkPath | None]:
    """The delay that both directions have, in nanoseconds, and the path from the first end and from
    the second. None: the direction only delays frames by this time."""
    delays = _delays_ns(link)
    losses = _losses(link)
    least_ns = min(delays)
    jitter = wire_jitter(link.jitter)
    # Without jitter, no frame is faster than the one before it.
    reorders = concrete(link.reorder) and jitter != wire.NoJitter()
    up, down = (
        wire.LinkPath(
            extra_delay_ns=delay_ns - least_ns,
            loss=loss,
            duplicate_ppm=concrete(link.duplicate) or 0,
            jitter=jitter,
            reorders=reorders,
        )
        for delay_ns, loss in zip(delays, losses, strict=True)
    )
    return least_ns, _unless_perfect(up), _unless_perfect(down)


def never_changes(path: wire.LinkPath | None) -> bool:
    """True if a Gilbert-Elliott model never changes its state."""
    loss = None if path is None else path.loss
    return isinstance(loss, wire.GilbertElliottLoss) and not (loss.to_bad_ppm or loss.to_good_ppm)


def _unless_perfect(path: wire.LinkPath) -> wire.LinkPath | None:
    return None if path == _PERFECT else path


def _delays_ns(link: LinkProperties) -> tuple[int, int]:
    if isinstance(link.delay, DelayEachWay):
        return concrete(link.delay.up), concrete(link.delay.down)
    delay_ns = concrete(link.delay) or 0
    return delay_ns, delay_ns


def _losses(link: LinkProperties) -> tuple[wire.Loss | None, wire.Loss | None]:
    if isinstance(link.loss, LossEachWay):
        return _loss(link.loss.up), _loss(link.loss.down)
    loss = _loss(link.loss)
    return loss, loss


def _loss(loss: OneWayLoss | None) -> wire.Loss | None:
    if isinstance(loss, Bursts):
        model = loss.gilbert_elliott
        return wire.GilbertElliottLoss(
            to_bad_ppm=concrete(model.to_bad),
            to_good_ppm=concrete(model.to_good),
            in_bad_ppm=concrete(model.in_bad),
            in_good_ppm=concrete(model.in_good),
        )
    share_ppm = concrete(loss)
    # A level of 0 % among others is a perfect link.
    return wire.IndependentLoss(share_ppm=share_ppm) if share_ppm else None
