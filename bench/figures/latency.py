"""Accept latency of one caller, beside one commit of SQLite of the same bytes."""
import measure

NAME = "latency"
COUNT = 1000


def measured(workshop):
    lines = workshop.lines(workshop.scaled(COUNT))

    def ours():
        return percentiles("outtray", workshop.host(
            1, 1, lines, workshop.binary, "serve", "--dir", workshop.fresh()))

    def sqlite():
        return percentiles("one SQLite commit", workshop.told(
            workshop.program("commits"), workshop.fresh("database"), lines))

    taken = measure.rounds({"outtray": ours, "SQLite": sqlite}, workshop.pairs)
    for percentile, target in (("p50", measure.at_most(1.3)), ("p99", None)):
        yield measure.compare(
            f"accept latency, {percentile}", "µs", taken, f"outtray {percentile}",
            f"one SQLite commit {percentile}", target)


def percentiles(name, told):
    return {f"{name} {percentile}": measure.Sample(told[percentile] * 1e6, told["cpu"] / told["count"])
            for percentile in ("p50", "p99")}
