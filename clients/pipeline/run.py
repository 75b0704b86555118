"""Kills the program `observations` after each of its steps, in every language, and looks at what came of it.

    python3 clients/pipeline/run.py [--short] [--jobs N] [--json FILE] [javascript | python | go | wire]...

README.md says what is played. OUTTRAY names the sidecar, else it is .build/outtray. Prints a line for what
does not hold and, at the end, the table; exit status 1 when something does not hold.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import check  # noqa: E402
import programs  # noqa: E402
import rounds  # noqa: E402

# Photos and sounds of an observation; seeds of each kill at random; the other ways.
FULL = [(photos, sounds) for photos in range(6) for sounds in range(2)], range(2), ("",)
SHORT = [(0, 0), (2, 1)], range(1), (
    "three", "update", "token expires after 2", "deleted", "refused", "30 % lost, no host, seed 4")


class Plan:
    """What is played. Every round is a job of one pool."""

    def __init__(self, binary, pool, short=False, report=print):
        self.binary, self.pool, self.report = binary, pool, report
        self.sizes, self.seeds, ways = SHORT if short else FULL
        self.ways = [way for way in rounds.WAYS if way[0].startswith(ways)]

    def submit(self, name, round, command, *arguments, **ledger):
        return self.pool.submit(self.play, name, round, command, *arguments, **ledger)

    def play(self, name, round, command, *arguments, **ledger):
        result = rounds.play(name, round, command, self.binary, *arguments, **ledger)
        for violation in result.violations:
            self.report(f"FAILED {name}: {violation}")
        if result.violations and result.words:
            self.report("       stderr ended with: " + result.words.strip().replace("\n", "\n       "))
        return result

    def begin(self, language, command):
        """The undisturbed rounds, which tell how many steps there are, and the other ways."""
        calm = {(photos, sounds): self.submit(f"{language}, {photos} photos, {sounds} sounds, undisturbed",
                                              rounds.undisturbed, command, photos, sounds)
                for photos, sounds in self.sizes}
        ways = [self.submit(f"{language}, {name}", round, command, *arguments, **ledger)
                for name, round, arguments, ledger in self.ways]
        return calm, ways

    def kill(self, language, command, photos, sounds, calm):
        """The rounds in which something is killed, by what the undisturbed one has shown."""
        place = f"{language}, {photos} photos, {sounds} sounds"
        played = [self.submit(f"{place}, killed after step {step}", rounds.killed_after_step, command, photos,
                              sounds, step) for step in range(1, len(calm.steps) + 1)]
        for what, round in (("host killed", rounds.killed_at_random),
                            ("sidecar killed", rounds.sidecar_killed), ("both killed", rounds.both_killed)):
            played += [self.submit(f"{place}, {what}, seed {seed}", round, command, photos, sounds,
                                   calm.seconds, seed) for seed in self.seeds]
        return played


def play(commands, binary, jobs, short=False, report=print):
    """The results: {(language, photos): [Result]} and {language: [Result]}."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        plan = Plan(binary, pool, short, report)
        begun = {language: plan.begin(language, command) for language, command in commands.items()}
        cells, ways = {}, {}
        for language, (calm, _) in begun.items():
            for (photos, sounds), first in calm.items():
                first = first.result()
                cells.setdefault((language, photos), []).append([first])
                cells[language, photos][-1] += plan.kill(language, commands[language], photos, sounds, first)
        for cell, groups in cells.items():
            cells[cell] = [one if isinstance(one, rounds.Result) else one.result()
                           for group in groups for one in group]
        for language, (_, played) in begun.items():
            ways[language] = [one.result() for one in played]
    return cells, ways


def summed(language, photos, results):
    kinds = check.by_kind(one for result in results for one in result.violations)
    return {"language": language, "photos": photos, "rounds": len(results),
            "kills": sum(result.kills for result in results),
            # Where the sidecar was killed some outcomes come twice, and there are more.
            "steps": max(len(result.steps) for result in results if result.is_calm),
            "duplicates": kinds["duplicate"], "incomplete": kinds["incomplete"],
            "other": sum(kinds.values()) - kinds["duplicate"] - kinds["incomplete"],
            "violations": [f"{result.name}: {one}" for result in results for one in result.violations],
            "holds": not kinds, "seconds": round(sum(result.seconds for result in results), 1)}


def table(rows):
    """Markdown, so that it can stand in a document as it was printed."""
    names = ("language", "photos", "rounds", "kills", "steps", "duplicates", "incomplete", "other")
    lines = ["| " + " | ".join(names) + " | verdict |", "|" + "---|" * (len(names) + 1)]
    return lines + ["| " + " | ".join(str(row[name]) for name in names)
                    + f" | {'holds' if row['holds'] else 'FAILED'} |" for row in rows]


def ways_table(ways):
    languages = list(ways)
    lines = ["| the other ways | " + " | ".join(languages) + " |", "|" + "---|" * (len(languages) + 1)]
    for number, first in enumerate(ways[languages[0]]):
        cells = ["FAILED" if ways[one][number].violations else "holds" for one in languages]
        lines.append(f"| {first.name.partition(', ')[2]} | " + " | ".join(cells) + " |")
    return lines


def written(path, rows, ways, seconds):
    """The results as JSON, with every violation."""
    told = {"seconds": round(seconds, 1), "cells": rows, "ways": [
        {"language": language, "name": result.name.partition(", ")[2], "seconds": round(result.seconds, 1),
         "violations": [str(one) for one in result.violations]}
        for language, results in ways.items() for result in results]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def main(arguments):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--jobs", type=int, default=4 * (os.cpu_count() or 1))
    parser.add_argument("--json", type=pathlib.Path, default=programs.ROOT / ".build" / "pipeline.json")
    options = parser.parse_args(arguments)
    languages = options.languages or list(programs.SOURCES)
    if not set(languages) <= set(programs.SOURCES):
        parser.error(f"a language is one of {', '.join(programs.SOURCES)}")
    binary = os.path.abspath(os.environ.get("OUTTRAY") or programs.ROOT / ".build" / "outtray")
    if not os.access(binary, os.X_OK):
        sys.stderr.write(f"pipeline: no binary at {binary}: run scripts/build-release or set OUTTRAY\n")
        return 1
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pipeline-programs-") as folder:
        try:
            commands = {language: programs.command_of(language, folder) for language in languages}
        except programs.NoProgram as missing:
            sys.stderr.write(f"pipeline: {missing}\n")
            return 1
        cells, ways = play(commands, binary, options.jobs, options.short)
    rows = [summed(language, photos, results) for (language, photos), results in cells.items()]
    seconds = time.monotonic() - begun
    written(options.json, rows, ways, seconds)
    print("\n".join([*table(rows), "", *ways_table(ways), ""]))
    failed = sum(not row["holds"] for row in rows) + sum(
        bool(result.violations) for results in ways.values() for result in results)
    played = sum(row["rounds"] for row in rows) + sum(map(len, ways.values()))
    print(f"pipeline: {played} rounds in {seconds:.0f} s, {sum(row['kills'] for row in rows)} kills: "
          f"{'all of it holds' if not failed else f'{failed} lines FAILED'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
