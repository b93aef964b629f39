#!/bin/sh
# One turn of a night: does what the task's summary asks for, such as `Greet 3 crash`.
#
# The folder beside it has a mark for each task whose first attempt is over.

night=${0%/*}
branch=$(git branch --show-current)
# An agent that works in a worktree that its task does not have is noticed in the morning.
if [ ! -e TASK.md ] || [ -z "$branch" ]; then
    echo "$ORANGE_TASK_ID in $PWD" >> "$night/astray"
    exit 1
fi
scripts=$night/../scripts
kind=$(sed -n 's/^summary: .*Greet [0-9]* \([a-z]*\).*/\1/p' TASK.md | head -n 1)
mark=$night/$ORANGE_TASK_ID
first=$([ -e "$mark" ] || echo yes)
touch "$mark"

report() {
    printf '%s' "$1" > "$ORANGE_REPORT"
}

finish() {
    echo Bonjour > "$ORANGE_TASK_ID.txt"
    git add . && git commit -qm "Greet for $ORANGE_TASK_ID"
    report '{"status":"done","summary":"It greets."}'
}

# The model goes on with this line, in this conversation only.
go_on_with() {
    own=$scripts/$branch
    mkdir -p "$own"
    { cat "$scripts/any/worker-1"; echo "$1"; } > "$own/new"
    mv "$own/new" "$own/worker-1"
}

# Kills the agent: every process of its run, wherever it was moved to, and this one last.
crash() {
    for process in /proc/[0-9]*; do
        pid=${process#/proc/}
        if [ "$pid" != $$ ] && [ "$(cat "$process/comm")" != orange ] &&
            grep -qsz "^ORANGE_RUN_ID=$ORANGE_RUN_ID\$" "$process/environ"; then
            kill -9 "$pid"
        fi
    done
    kill -9 $$
}

case $kind:$first in
crash:yes) crash 2>/dev/null ;;
silent:yes) echo half > half.txt ;;
malformed:*) report '{"status": done, "summary": ' ;;
review:*) report '{"status":"needs_review","reason":"Which French?"}' ;;
blocked:*) report '{"status":"blocked","reason":"no dictionary","blockers":["dictionary"]}' ;;
unfinished:yes)
    echo half > half.txt
    git add . && git commit -qm 'Half of it'
    report '{"status":"in_progress","remaining":["the other half"]}'
    ;;
hopeless:*) report '{"status":"in_progress","remaining":["everything"]}' ;;
delegate:yes)
    report '{"status":"in_progress","delegations":[{"title":"Greet a friend"},{"title":"Greet a stranger"}]}'
    ;;
quota:yes)
    # The model answers the next request of this conversation with a used up quota.
    go_on_with quota
    ;;
greedy:yes)
    echo half > half.txt
    git add . && git commit -qm 'Half of it'
    report '{"status":"in_progress","remaining":["the other half"]}'
    # The next answer costs more than the budget of a task.
    go_on_with 'tokens 50000'
    ;;
*)
    rm -rf "${scripts:?}/$branch"
    finish
    ;;
esac
