# SPDX-License-Identifier: Apache-2.0
#
# A thin front: Meson does the work, in build/ (and build-asan/, build-tsan/, build-fuzz/).

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600

.PHONY: all build run test asan fuzz fuzz-night bench format lint install clean

all: build

# Unit tests need a library that building does not: "make test" switches them on.
build/build.ninja:
	tools/setup build
	meson setup build --prefix=$(PREFIX) -Dtests=false

build: build/build.ninja
	ninja -C build sonde sonded libsonde.so libsonde.a

# A service with three faults, and what finds them.
run: build
	tools/setup run
	@ninja -C build --quiet examples/example-demo
	@examples/demo/demo.sh build/sonde build/examples/example-demo

test:
	tools/setup test
	$(MAKE) build
	meson configure build -Dtests=true
	meson test -C build --print-errorlogs

asan:
	tools/setup test
	test -d build-asan || meson setup build-asan -Db_sanitize=address,undefined
	meson test -C build-asan --print-errorlogs

fuzz:
	tools/setup test
	tools/fuzz $(FUZZ_SECONDS)

# The same, two hours each.
fuzz-night:
	$(MAKE) fuzz FUZZ_SECONDS=7200

bench:
	tools/setup bench
	$(MAKE) build
	ninja -C build bench/gen-profile bench/unwind-bench bench/malloc-bench bench/empty-hooks.so \
		bench/lock-bench bench/empty-locks.so tests/resolve-tool
	bench/run
	bench/malloc --peers
	bench/runtime
	bench/locks
	bench/stores
	bench/page.mjs

format:
	clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

lint: build/build.ninja
	tools/lint

install: build
	meson install -C build

clean:
	rm -rf build build-asan build-tsan build-fuzz
