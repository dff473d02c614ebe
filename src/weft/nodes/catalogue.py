"""The node types that weft brings along, by the names that documents use."""

from __future__ import annotations

from weft.nodes.http import HttpNode
from weft.nodes.signals import Approval, WaitForSignal
from weft.nodes.smtp import SmtpNode
from weft.nodes.steering import (
    Aggregator,
    Conditional,
    ManualTrigger,
    Merge,
    Split,
    Switch,
    Wait,
)
from weft.nodes.subworkflow import SubWorkflow
from weft.nodes.values import Fail, Log, Noop, Transform
from weft.ports.node import Catalogue


def _builtin() -> Catalogue:
    catalogue = Catalogue()
    control = (
        ("manual_trigger", ManualTrigger, ()),
        ("conditional", Conditional, ("expression",)),
        ("switch", Switch, ("cases/*/when",)),
        ("split", Split, ()),
        ("aggregator", Aggregator, ("collect",)),
        ("merge", Merge, ()),
        ("wait", Wait, ()),
        ("wait_for_signal", WaitForSignal, ()),
        ("approval", Approval, ()),
        ("transform", Transform, ("expression",)),
        ("log", Log, ()),
        ("noop", Noop, ()),
        ("fail", Fail, ()),
    )
    for name, parameters, expressions in control:
        catalogue.register(name, effect="control", expressions=expressions)(parameters)
    catalogue.register("http")(HttpNode)
    catalogue.register("smtp", credential=True)(SmtpNode)
    catalogue.register("workflow")(SubWorkflow)
    return catalogue


builtin = _builtin()
