"""The numbers as Prometheus reads them."""

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from onward.adapters.telemetry.prometheus import PrometheusMeter
from onward.ports.telemetry import ACKED, CLAIM_SECONDS, METRICS, SLOTS, SLOTS_USED, Metric

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "observe.md"
RUN_BOUND = {"run", "execution", "execution_id", "workflow", "node", "item", "token"}


def samples(meter):
    families = text_string_to_metric_families(meter.text().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_counters_gauges_and_histograms_say_what_they_were_told():
    meter = PrometheusMeter("1.2.3")
    meter.add(ACKED, "q")
    meter.add(ACKED, "q", amount=2)
    meter.set(SLOTS, 64)
    meter.add(SLOTS_USED)
    meter.add(SLOTS_USED, amount=-1)
    meter.observe(CLAIM_SECONDS, 0.003)

    found = samples(meter)

    assert 3 == found["onward_messages_acked_total", (("queue", "q"),)]
    assert 64 == found["onward_worker_slots", ()]
    assert 0 == found["onward_worker_slots_used", ()]
    assert 1 == found["onward_claim_seconds_count", ()]
    assert 0 == found["onward_claim_seconds_bucket", (("le", "0.0025"),)]
    assert 1 == found["onward_claim_seconds_bucket", (("le", "0.005"),)]
    assert 1 == found["onward_build_info", (("version", "1.2.3"),)]


def test_reconnects_are_read_where_they_are_counted():
    meter, counts = PrometheusMeter("1"), {"rabbitmq": 0}
    meter.count_reconnects(lambda: counts)
    counts["rabbitmq"] = 2

    assert 2 == samples(meter)["onward_reconnects_total", (("service", "rabbitmq"),)]


def test_two_meters_share_nothing():
    one, other = PrometheusMeter("1"), PrometheusMeter("1")
    one.set(SLOTS, 5)

    assert 0 == samples(other)["onward_worker_slots", ()]


def test_no_label_comes_from_a_run():
    assert [] == [metric.name for metric in METRICS if RUN_BOUND & set(metric.labels)]


def test_names_follow_the_convention():
    def right(one: Metric) -> bool:
        if one.kind == "counter":
            return one.name.endswith("_total")
        if one.kind == "histogram":
            return one.name.endswith("_seconds") and one.buckets == tuple(sorted(one.buckets))
        return not one.name.endswith("_total")

    assert [] == [
        metric.name
        for metric in METRICS
        if not right(metric) or not metric.name.startswith("onward_")
    ]


def test_the_page_lists_every_metric_with_its_labels_and_no_other():
    rows = dict(re.findall(r"^\| `(onward_\w+)(?:\{([\w,]*)\})?` \|", PAGE.read_text(), re.M))

    assert {metric.name: ",".join(metric.labels) for metric in METRICS} == rows


def test_the_queries_of_the_page_use_metrics_that_exist():
    known = {metric.name for metric in METRICS}
    fences = "\n".join(re.findall(r"^```promql$(.*?)^```$", PAGE.read_text(), re.M | re.S))
    used = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"onward_\w+", fences)}

    assert len(used) > 5
    assert set() == used - known
