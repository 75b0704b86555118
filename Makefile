.PHONY: build demo test clean

# One binary: Swift's library linked in, only libcurl, libsqlite3 and the C library beside it.
build:
	scripts/install-tools build
	scripts/build-release

# The main job, end to end, with a kill in the middle.
demo:
	scripts/install-tools build demo
	scripts/build-release
	OUTTRAY=.build/outtray node clients/js/demo/main-job.mjs

test:
	scripts/install-tools build demo test
	scripts/run-tests

clean:
	rm -rf .build
