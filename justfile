# What one does here often. `just` alone lists it.

# Unit tests of the product: incremental, unoptimised, on the same optimised dependencies.
quick := "--config profile.release.package.inglenook.opt-level=0 --config profile.release.package.inglenook.codegen-units=256"

export CARGO_INCREMENTAL := "1"

_default:
    @just --list

# the chat
run *args:
    cargo run --release -- {{args}}

# unit tests of the product whose path contains a word: `just test recall::` (one that needs optimised code is CI's)
test *filter:
    cargo test --release {{quick}} --lib {{filter}} -- --skip a_mask_over_a_large_vocabulary_is_quick

# one integration test: `just test-file kill`
test-file name *filter:
    cargo test --release --test {{name}} {{filter}}

# every test of the workspace
test-all:
    CARGO_INCREMENTAL=0 cargo test --release --workspace

lint:
    cargo fmt --all
    cargo clippy --release --workspace --all-targets -- -D warnings

# rewrite the screens' snapshots; look at the diff
snapshots:
    INSTA_UPDATE=always cargo test --release {{quick}} --lib tui::

# the map and the API, in a browser
doc:
    cargo doc --release --no-deps --document-private-items --open

# fuzz what comes from outside, until stopped: `just fuzz gguf`, `just fuzz gguf -max_total_time=60`. Needs cargo-fuzz.
fuzz target *flags:
    mkdir -p target/fuzz/corpus/{{target}}
    CARGO_INCREMENTAL=0 cargo fuzz run --fuzz-dir tests/fuzz --target-dir target/fuzz --sanitizer none {{target}} \
        target/fuzz/corpus/{{target}} tests/fuzz/corpus/{{target}} -- -max_len=16384 -timeout=10 -rss_limit_mb=512 {{flags}}

# every target for some seconds: `just fuzz-all 600`
fuzz-all seconds:
    for target in $(cargo fuzz list --fuzz-dir tests/fuzz); do just fuzz "$target" -max_total_time={{seconds}} || exit; done

# a measurement: `just eval retrieval …`, `just eval bench memory`
eval *args:
    cargo run --release -p inglenook-eval -- {{args}}

# without network code: must always compile
offline:
    cargo clippy --release --locked --no-default-features --features starter -- -D warnings

# the system's keyring, with a D-Bus and a GNOME Keyring of the test's own. Needs Debian's libdbus-1-dev, dbus-daemon, gnome-keyring
# and libsecret-tools. Not in `ci`: the feature compiles most dependencies once more.
keyring:
    cargo test --release -p system-keyring --features system
    cargo test --release {{quick}} --features keyring --test cli keyring

# licences, duplicate and banned crates, sources
deny:
    cargo deny check licenses bans sources

# the crates with their versions, licences and hashes: sbom.json (needs cargo-cyclonedx)
sbom:
    cargo cyclonedx --format json --all --override-filename sbom
    rm -f crates/*/sbom.json

# lines by folder, files over 500 lines, functions over 100
size:
    @for d in src/*/ crates/*/; do printf '%7d %s\n' "$(find "$d" -name '*.rs' -exec cat {} + | wc -l)" "$d"; done
    @printf '%7d src\n' "$(find src -name '*.rs' -exec cat {} + | wc -l)"
    @find src crates -name '*.rs' -exec wc -l {} + | awk '$1 > 500 && $2 != "total"'
    cargo clippy --release --lib -- -A clippy::all -W clippy::too_many_lines

# the kernels' tests (or others: `just aarch64 inglenook`) for 64-bit Arm, by QEMU: without a dot product, and with.
# Needs `rustup target add aarch64-unknown-linux-gnu` and Debian's gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and
# qemu-user. Not in `ci`: it compiles every dependency once more.
aarch64 package='packed-matmul' *filter:
    #!/usr/bin/env bash
    set -euo pipefail
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    for processor in cortex-a53 max; do
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu $processor"
        cargo test --release --locked --target aarch64-unknown-linux-gnu -p {{package}} --lib {{filter}}
    done

# a build with the feature `cuda` where no CUDA is installed: compiled, linked and started, without a GPU. Not in `ci`.
cuda:
    tests/fixtures/cuda.sh

# exactly what is run before a change goes in
ci:
    .ci/run
