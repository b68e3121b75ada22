"""Shapes of the requests, from which the OpenAPI document is made."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from bandstrap.serve import limits

Text = Annotated[str, Field(min_length=1, max_length=500)]
ContextValue = bool | int | float | Annotated[str, Field(max_length=500)] | None


class StrictShape(BaseModel):
    """An object without other fields, whose values are not converted: "1" is no number."""

    model_config = ConfigDict(strict=True, extra="forbid")


class DecisionRequest(StrictShape):
    """A decision that is asked for."""

    unit: Text | None = Field(None, description="Visitor, user or order that the decision is for.")
    key: Text | None = Field(None, description="Idempotency key: the same key gives the same decision.")
    available: list[Text] | None = Field(None, max_length=limits.ITEMS, description="Arms that can be served.")
    actions: list[list[float]] | None = Field(
        None, max_length=limits.ITEMS, description="Features of the actions, for a linear policy."
    )
    context: dict[Text, ContextValue] | list[float] | None = Field(
        None, max_length=limits.ITEMS, description="Context of this visit, for a contextual policy."
    )
    defer: bool = Field(False, description="Ignore the decision until it is activated.")


class RewardRequest(StrictShape):
    """A reward of a decision, given by its id, or of a unit's last decision."""

    decision: Text | None = Field(None, description="Id of a decision.")
    unit: Text | None = Field(None, description="Unit; the reward belongs to its last decision within the window.")
    value: float
    key: Text | None = Field(None, description="Idempotency key, for a decision with several rewards.")


class ImportRequest(StrictShape):
    """A decision that was made elsewhere: from weights of a version, or by force, where the service did not answer."""

    key: Text = Field(description="Key of the decision.")
    unit: Text | None = Field(
        None, description="Unit of the decision; default: none, and the key determines the holdout."
    )
    arm: Text = Field(description="The arm that was served.")
    version: int | None = Field(None, ge=0, le=2**53, description="Version of the weights behind the decision.")
    forced: bool = Field(False, description="The arm was not drawn: it is counted, but nothing is learned from it.")


class ArmRequest(StrictShape):
    """Change of an arm."""

    state: Literal["active", "paused"]


class FinishRequest(StrictShape):
    """The arm that is served to all from now on."""

    arm: Text
    holdout: float = Field(0.0, description="Share of units that still get the control.")


class ChangeRequest(StrictShape):
    """Settings to change; those left out stay."""

    floor: float | None = None
    holdout: float | None = None
    control: str | Annotated[int, Field(ge=0)] | None = None
    burn_in: int | None = None
    new_arm_share: float | None = None
    mode: Literal["live", "shadow"] | None = None
    refresh: float | str | None = None


class SettingsRequest(ChangeRequest):
    """An experiment to create; fields that are left out have the defaults of ``bandstrap live create``."""

    policy: Text
    reward_range: list[float] | None = Field(None, min_length=2, max_length=2)
    out_of_range: Literal["refuse", "clip"] | None = None
    arms: list[Text] | None = Field(None, max_length=limits.ITEMS)
    seed: int | None = Field(None, ge=0, le=2**62)
    direction: Literal["max", "min"] | None = None
    window: float | str | None = None
    default_reward: float | None = None
    aggregate: Literal["first", "last", "sum"] | None = None
    draws: int | None = None


class ExperimentRequest(SettingsRequest):
    """An experiment to create, with its name."""

    name: Text
