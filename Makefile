.PHONY: build demo desktop test scenario pipeline packages drills simulation fuzz sanitizers bench clean

# One binary: Swift's library linked in, only libcurl, libsqlite3 and the C library beside it.
build:
	scripts/install-tools build
	scripts/build-release

# The main job, end to end, with a kill in the middle.
demo:
	scripts/install-tools build demo
	scripts/build-release
	OUTTRAY=.build/outtray node clients/js/demo/main-job.mjs

# The desktop example in a browser and in Electron, walked through and checked; pictures go into dist/desktop.
desktop:
	scripts/install-tools build desktop
	scripts/build-release
	OUTTRAY=.build/outtray scripts/test-desktop

# One scenario by the public API of every client; their results have to be the same.
scenario:
	scripts/install-tools build demo scenario
	scripts/build-release
	OUTTRAY=.build/outtray /usr/bin/python3 clients/scenario/run.py

# Requests that depend on each other, in every language, with a kill after each step of the program.
pipeline:
	scripts/install-tools build demo scenario
	scripts/build-release
	OUTTRAY=.build/outtray /usr/bin/python3 clients/pipeline/run.py

# Kills, drains, power cuts, faults of the disk, load, clocks, a soak: each for a short time, and one table.
drills:
	scripts/install-tools build demo scenario test drills
	scripts/build-release
	OUTTRAY=.build/outtray /usr/bin/python3 Tests/Drills/all_drills.py --json .build/drills.json

# Every parser and the rows of the database, fed anything for a few seconds each: one table.
fuzz:
	scripts/install-tools build scenario fuzz
	scripts/fuzz

# Random histories of the engine on a disk that forgets (Tests/Simulation/README.md).
simulation:
	scripts/install-tools build
	Tests/Simulation/run --json .build/simulation.json

# Races, misuse of memory, leaks: every Swift test and the binary at work under the sanitizers. Takes its time.
sanitizers:
	scripts/install-tools build test drills
	scripts/test-sanitizers

# Every figure beside a peer measured in the same run: one table, and all of it as JSON in dist/bench.
bench:
	scripts/install-tools build demo scenario bench
	scripts/build-release
	mkdir -p dist/bench
	OUTTRAY=.build/outtray /usr/bin/python3 bench/run.py --json dist/bench/bench.json --markdown dist/bench/table.md

# What other programs install, in dist/: a wheel, two npm packages, a Go module.
packages:
	scripts/install-tools build packages
	scripts/build-release
	scripts/package-python
	scripts/package-js
	scripts/package-go

test:
	scripts/install-tools build demo scenario packages desktop test drills fuzz bench
	scripts/run-tests

clean:
	rm -rf .build dist
