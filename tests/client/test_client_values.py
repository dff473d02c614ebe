"""What the client reads is what the API answers: held equal field by field.

The two are declared apart on purpose. A client may be older than its server, so its values pass
over fields they do not know, take any text where a view allows only some, and default what lists
leave out; a view is exact, because it is what the OpenAPI promises.
"""

from __future__ import annotations

import msgspec
import pytest

from onward.api.runs import views as runs
from onward.api.views import Page, Place
from onward.api.workflows import views as workflows
from onward.client import errors, values

TWINS = [
    (values.Listing, Page),
    (values.Workflow, workflows.WorkflowView),
    (values.Version, workflows.VersionView),
    (values.Examined, workflows.ExaminedView),
    (values.Difference, workflows.DifferenceView),
    (values.Imported, workflows.ImportedView),
    (values.NodeInfo, runs.NodeView),
    (values.VisitInfo, runs.VisitView),
    (values.ItemInfo, runs.ItemView),
    (values.LogLine, runs.LineView),
    (values.Data, runs.DataView),
    (values.Explanation, runs.ExplanationView),
    (errors.ProblemPlace, Place),
]


def fields(kind: type) -> set[str]:
    return {field.name for field in msgspec.structs.fields(kind)}


@pytest.mark.parametrize(("value", "view"), TWINS, ids=lambda kind: kind.__name__)
def test_a_value_has_the_fields_of_its_view(value, view):
    assert fields(view) == fields(value)


def test_a_run_has_the_fields_of_its_views_but_the_sizes_of_its_context():
    """`Run.context` asks for those when they are wanted."""
    assert fields(runs.RunDetailView) - {"context"} == fields(values.RunInfo)


def test_an_event_has_the_fields_of_its_views_and_a_cursor():
    """The cursor is the id that the stream sent it with: the place, as text."""
    assert (fields(runs.PlacedEventView) - {"place"}) | {"cursor"} == fields(values.Event)


def test_every_view_that_has_a_twin_can_be_read_by_it():
    """A value never asks for a field that its view may leave out."""
    for value, view in TWINS:
        required = {field.name for field in msgspec.structs.fields(value) if field.required}
        assert required <= fields(view)
