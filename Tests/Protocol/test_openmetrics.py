"""The page that OpenMetricsTests holds the renderer against, read by Prometheus' own parsers."""
import pytest

parser = pytest.importorskip("prometheus_client.openmetrics.parser")
older = pytest.importorskip("prometheus_client.parser")

DIR = '/var/lib/"notes"\\a\nb ü'


@pytest.fixture(scope="module")
def page(root):
    return root.joinpath("Tests/Protocol/stats.openmetrics").read_text(encoding="utf-8")


def figures(families):
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in families for sample in family.samples}


def test_openmetrics(page):
    """Families, types, units and figures; labels come back as they were before they were escaped."""
    families = {family.name: family for family in parser.text_string_to_metric_families(page)}
    assert {name: family.type for name, family in families.items()} == {
        "outtray_entries": "gauge", "outtray_served": "gauge", "outtray_outcomes_unacknowledged": "gauge",
        "outtray_attempts_started": "counter", "outtray_attempts_ended": "counter",
        "outtray_sent_bytes": "counter", "outtray_received_bytes": "counter", "outtray_commits": "counter",
        "outtray_network": "gauge", "outtray_network_metered": "gauge"}
    assert {name for name, family in families.items() if family.unit == "bytes"} == {
        "outtray_sent_bytes", "outtray_received_bytes"}
    assert all(family.documentation for family in families.values())
    found = figures(families.values())
    assert {dict(labels)["dir"] for _, labels in found} == {DIR}
    assert found["outtray_entries", (("dir", DIR), ("state", "awaiting-auth"))] == 3
    assert found["outtray_attempts_ended_total", (("dir", DIR), ("outcome", "failed"))] == 3
    assert found["outtray_sent_bytes_total", (("dir", DIR),)] == 2 ** 53 - 1


def test_the_older_format_reads_it_too(page):
    """As the node exporter's textfile collector does: the same figures, and no type it does not know."""
    families = list(older.text_string_to_metric_families(page))
    assert figures(families) == figures(parser.text_string_to_metric_families(page))
    assert {family.type for family in families} <= {"gauge", "counter", "unknown"}
