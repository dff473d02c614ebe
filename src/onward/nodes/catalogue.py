"""The node types that onward brings along, by the names that documents use."""

from __future__ import annotations

from onward.nodes.http import HttpNode
from onward.nodes.signals import Approval, WaitForSignal
from onward.nodes.smtp import SmtpNode
from onward.nodes.steering import (
    Aggregator,
    Conditional,
    ManualTrigger,
    Merge,
    Split,
    Switch,
    Wait,
)
from onward.nodes.subworkflow import SubWorkflow
from onward.nodes.values import Fail, Log, Noop, Transform
from onward.ports.node import Catalogue


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
