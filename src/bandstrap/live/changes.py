"""Changes of arms and settings, checked before they are written into the log, which all have to fold; and who made them."""

from __future__ import annotations

import getpass
import json
import os
from typing import NamedTuple

from bandstrap.basics.text import visible
from bandstrap.errors import InvalidInput, brief, requirement
from bandstrap.live import fold
from bandstrap.live.rows import Change
from bandstrap.live.settings import LONGEST_LABEL, SettingValues, check_text


class AppliedChange(NamedTuple):
    """A change that is in the log.

    Attributes
    ----------
    version
        Its entry of the log: decisions based on this version or a later one follow it.
    delay
        Seconds after which all new decisions are based on this version or a later one: the workers' ``refresh``. 0 after
        waiting.
    """

    version: int
    delay: float

    def __str__(self) -> str:
        if not self.delay:
            return f"version {self.version}"
        return f"version {self.version}; other workers follow within {self.delay:g} s (their refresh)"


def check_change(state: fold.LiveState, kind: str, wish: SettingValues) -> SettingValues:
    """Entry for a change, checked against the state that it changes."""
    active = [state.arms[arm] for arm in state.active()]
    if state.is_archived and kind not in ("void", "archive") and "mode" not in wish:
        raise InvalidInput("The experiment is archived; change(mode='live') brings it back.")
    if kind == "settings":
        changed = state.settings.changed(active, wish, "change")
        return {name: getattr(changed, name) for name in wish}
    if kind in ("void", "archive"):
        return wish
    if state.settings.is_linear:
        raise InvalidInput(f"{kind} is for policies of arms; a linear policy is given actions with each decision.")
    arm = wish["arm"]
    if kind == "finish":
        if not isinstance(arm, str) or arm not in active:
            raise requirement("ship", kind, f"one of the active arms {active[:20]}", brief(arm))
        return {"arm": arm, "holdout": state.settings.changed(active, {"holdout": wish["holdout"]}, kind).holdout}
    if kind == "add_arm":
        label = check_text(arm, "arm", kind, LONGEST_LABEL)
        if label in state.arms:
            raise requirement("arm", kind, "a label that no arm of the experiment has or had", brief(arm))
        state.policy.copy().add_arm(label)  # what it refuses must not get into the log, which all have to fold
        return {"arm": label}
    known = {label: status for label, status in zip(state.arms, state.status, strict=True) if status != "retired"}
    if not isinstance(arm, str) or arm not in known:
        raise requirement("arm", kind, f"one of the arms {list(known)[:20]}", brief(arm))
    needed = {"pause": "active", "resume": "paused"}.get(kind)  # either may be retired
    if needed is not None and known[arm] != needed:
        raise requirement("arm", kind, needed, f"{arm!r}, which is {known[arm]}")
    if kind != "resume" and arm == state.settings.control:
        raise requirement("arm", kind, "other than the control, which is served to others", brief(arm))
    if kind != "resume" and arm == state.shipped:
        raise requirement("arm", kind, "another arm than the one served to all", brief(arm))
    if kind != "resume" and active == [arm]:
        raise requirement("arm", kind, "other than the last active arm", brief(arm))
    return {"arm": arm}


def actor_of(actor: str | None, owner: str) -> str:
    """Author of a change, for the audit trail: by default who runs this process."""
    if actor is not None:
        return check_text(actor, "actor", owner, LONGEST_LABEL)
    try:
        return visible(getpass.getuser())  # which the environment may say, in whatever bytes
    except (KeyError, OSError):  # nobody whom the system knows by name
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def body_of(change: Change) -> SettingValues:
    """Body of a change: the arm, or settings. Where snapshots spare the way through the log, nobody has read it yet."""
    try:
        body = dict(json.loads(change.body))
        part = {"settings": None, "finish": None, "archive": None, "void": "decision"}.get(change.kind, "arm")
        return body if part is None else {part: body[part]}
    except (ValueError, TypeError, KeyError):
        raise fold.unreadable(change) from None
