"""Workflows that the tests of the API use."""


def chain(name="hello", expression='{text: ("Hello, " + $trigger.name)}'):
    """A trigger and a transformation."""
    return {
        "id": name,
        "nodes": [
            {"id": "start", "type": "manual_trigger"},
            {"id": "greet", "type": "transform", "parameters": {"expression": expression}},
        ],
        "edges": [{"id": "e1", "src": "start", "dst": "greet"}],
    }


def fan_out(name="fan"):
    """A split over `$trigger.items`, of which those that are 3 fail."""
    return {
        "id": name,
        "nodes": [
            {"id": "start", "type": "manual_trigger"},
            {"id": "each", "type": "split", "parameters": {"input_array": "$trigger.items"}},
            {
                "id": "double",
                "type": "transform",
                "parameters": {
                    "expression": 'if $item == 3 then error("three") else $item * 2 end'
                },
            },
            {"id": "all", "type": "aggregator"},
        ],
        "edges": [
            {"id": "e1", "src": "start", "dst": "each"},
            {"id": "e2", "src": "each", "dst": "double"},
            {"id": "e3", "src": "double", "dst": "all"},
        ],
    }


def waiting(name="pause", seconds=3600):
    """A wait that no test sees the end of."""
    return {
        "id": name,
        "nodes": [
            {"id": "start", "type": "manual_trigger"},
            {"id": "pause", "type": "wait", "parameters": {"amount": seconds}},
        ],
        "edges": [{"id": "e1", "src": "start", "dst": "pause"}],
    }
