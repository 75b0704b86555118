"""One call and its answer, `ping`, beside a program that gives each line back: from a host in C beside an
echo in C, and from Node, Python and Go, each in its usual way with pipes and JSON, beside `cat`. And
`stats` by each client."""
import os
import sys

import measure
import sidecar

NAME = "roundtrip"
COUNT = 20_000
# One after the other, and many unanswered.
WINDOWS = (1, 64)


def measured(workshop):
    count = workshop.scaled(COUNT)
    lines = workshop.fresh("pings")
    lines.write_bytes(b"".join(sidecar.line(n, "ping") for n in range(count)))
    hosts = {"C": [workshop.program("host")], "Python": [sys.executable, workshop.source("ping.py")],
             "Node": ["node", workshop.source("ping.mjs")], "Go": [workshop.go_program("ping")]}
    yield from between(workshop, "C", workshop.program("echo"), lambda window, *command: workshop.host(
        window, 0, lines, *command))
    for language in ("Node", "Python", "Go"):
        command = hosts[language]
        yield from between(workshop, language, "cat", lambda window, *rest, command=command: workshop.told(
            *command, window, count, *rest))


def between(workshop, language, echo, talk):
    directory = workshop.queue(0)
    name = f"{language}: {os.path.basename(echo)}"

    def contender(window, who, *command):
        def run():
            told = talk(window, *command)
            cpu = told["cpu"] / told["count"] if told.get("cpu") else None
            return {f"{who} p50": measure.Sample(told["p50"] * 1e6, cpu),
                    f"{who} p99": measure.Sample(told["p99"] * 1e6),
                    f"{who} rate {window}": measure.Sample(told["count"] / told["seconds"], cpu)}
        return run

    contenders = {}
    for window in WINDOWS:
        prefix = "" if window == 1 else "many: "
        contenders[f"{prefix}outtray"] = contender(
            window, f"{prefix}outtray", workshop.binary, "serve", "--dir", directory)
        contenders[f"{prefix}{name}"] = contender(window, f"{prefix}{name}", echo)
    taken = measure.rounds(contenders, workshop.pairs)
    for percentile in ("p50", "p99"):
        target = measure.at_most(1.5) if (language, percentile) == ("C", "p50") else None
        yield measure.compare(f"round trip from {language}, {percentile}", "µs", taken,
                              f"outtray {percentile}", f"{name} {percentile}", target)
    yield measure.compare(
        f"calls from {language}, 1 in flight", "/s", taken, "outtray rate 1", f"{name} rate 1")
    yield measure.compare(
        f"calls from {language}, 64 in flight", "/s", taken, "many: outtray rate 64", f"many: {name} rate 64",
        peer_name=name)
