# Short names for what CONTRIBUTING.md explains.

# Everything, exactly as the public CI does it.
check:
    .ci/run

# What to run after every edit, in minutes: lints, the engine, the proofs, the architecture, and of
# the commands those that need neither git nor tmux.
quick:
    cargo fmt --all
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo nextest run --workspace --locked -E 'package(orange-engine) or package(orange-check) or binary(architecture) or kind(lib) or binary(cli) and test(/^(workflow_|config_|schema|every_command::(documentation|help|home|output|reference|schemas|terminal|usage)::)/)'

# Everything there is: all agents, all crash points, more random runs; two hours.
long:
    .ci/long

# Format the workspace.
fmt:
    cargo fmt --all

# The tests.
test *arguments:
    cargo nextest run --workspace {{ arguments }}

# Deaths at every commit and effect, and so many pairs of deaths per transition.
crashes pairs="8":
    CRASH_PAIRS={{ pairs }} cargo nextest run -p orange --features crash-points --test-threads 6 --test driver crashes::

# The engine's laws, with many more cases than usual.
laws cases="100000":
    PROPTEST_CASES={{ cases }} cargo nextest run -p orange-engine -p orange-check laws

# One fuzz target (task_file, workflow, when, prompt), for some seconds.
fuzz target seconds="300":
    cargo +nightly fuzz run {{ target }} -- -max_total_time={{ seconds }}

# Changes the engine's code a little at a time: a test must notice each change.
mutants *arguments:
    cargo mutants -p orange-engine -p orange-check {{ arguments }}

# What is generated in docs/: schemas of answers, the reference of commands.
docs:
    ORANGE_WRITE_DOCS=1 cargo nextest run -p orange --test cli --test agents published reference the_page

# The real agents, with a scripted model; installs them first.
agents *arguments:
    .ci/agents
    cargo nextest run -p orange --test agents {{ arguments }}

# The same, and writes down for docs/agents.md what passed with which version.
show-agents *arguments:
    .ci/agents
    ORANGE_WRITE_DOCS=1 cargo nextest run -p orange --test agents {{ arguments }}
    ORANGE_WRITE_DOCS=1 cargo nextest run -p orange --test agents the_page

# Pins another version of an agent, and tells what it does differently.
upgrade-agent name version:
    .ci/agents upgrade {{ name }} {{ version }}

# The pictures and the film in docs/pictures, from the real program.
pictures *arguments:
    .ci/pictures {{ arguments }}

# The main commands against the bare ones, in turns, with the ratios; two minutes.
bench:
    cargo bench -p orange --bench table

# All benchmarks.
benches:
    cargo bench --workspace
