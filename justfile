# What one does here often. `just` alone lists it.

_default:
    @just --list

# the chat
run *args:
    cargo run --release -- {{args}}

# only some tests: `just test store::`
test *filter:
    cargo test --release {{filter}}

lint:
    cargo fmt
    cargo clippy --release --all-targets -- -D warnings

# the map and the API, in a browser
doc:
    cargo doc --release --no-deps --document-private-items --open

# without network code: must always compile
offline:
    cargo check --release --no-default-features --features starter

# the tests of the kernels (or others: `just aarch64 store::`) for 64-bit Arm, by QEMU: without a dot product, and with.
# Needs `rustup target add aarch64-unknown-linux-gnu` and Debian's gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and
# qemu-user. Not in `ci`: it compiles every dependency once more.
aarch64 *filter='inference::kernels':
    #!/usr/bin/env bash
    set -euo pipefail
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    for processor in cortex-a53 max; do
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu $processor"
        cargo test --release --locked --target aarch64-unknown-linux-gnu --lib {{filter}}
    done

# a build with the feature `cuda` where no CUDA is installed: compiled, linked and started, without a GPU. Not in `ci`.
cuda:
    tests/fixtures/cuda.sh

# exactly what is run before a change goes in
ci:
    .ci/run
