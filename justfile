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

# exactly what is run before a change goes in
ci:
    .ci/run
