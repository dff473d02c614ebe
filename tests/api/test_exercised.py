"""The proof that every operation is asked for, itself."""

from types import SimpleNamespace

import pytest

from api.exercised import FOLDER, lacking, whole
from onward.api.routing.permissions import PERMISSIONS

ALL = {
    (permission, backend) for permission in PERMISSIONS for backend in ("embedded", "distributed")
}


def test_what_was_left_out_is_named_with_its_backend():
    seen = ALL - {("get_run", "distributed"), ("list_runs", "embedded")}

    assert [] == lacking(ALL)
    assert ["get_run", "list_runs"] == [one.split()[0] for one in lacking(seen)]
    assert ["distributed", "embedded"] == [one.split()[-1] for one in lacking(seen)]


def test_a_backend_that_was_not_there_is_not_asked_for():
    assert [] == lacking({one for one in ALL if one[1] == "embedded"})


@pytest.mark.parametrize(
    ("args", "chosen", "expected"),
    [
        ([FOLDER], {}, True),
        ([FOLDER.parent], {"markexpr": "not slow"}, True),
        ([FOLDER.parent / "kernel", FOLDER], {}, True),
        ([FOLDER.parent / "kernel"], {}, False),
        ([FOLDER / "test_runs.py"], {}, False),
        ([f"{FOLDER}/test_runs.py::test_one"], {}, False),
        ([FOLDER], {"keyword": "cancel"}, False),
        ([FOLDER], {"markexpr": "slow"}, False),
        ([FOLDER], {"ignore": ["tests/api/test_runs.py"]}, False),
        ([FOLDER], {"maxfail": 1}, True),
    ],
)
def test_only_a_run_of_the_whole_folder_proves_anything(args, chosen, expected):
    nothing = {"markexpr": "", "keyword": "", "collectonly": False, "deselect": None}
    option = SimpleNamespace(**{**nothing, "ignore": None, "ignore_glob": None, **chosen})

    assert expected == whole(SimpleNamespace(args=[str(arg) for arg in args], option=option))
