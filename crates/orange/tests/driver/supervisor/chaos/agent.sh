#!/bin/sh
# An agent that misbehaves at random: each turn runs the next line of its plan.
#
# The plan of task 7's worker is world/plans/7-worker beside this file. After the end of its plan, or
# once world/calm exists, the agent works normally. Whatever must never be lost is listed in
# world/owed as soon as it is written.

WORLD=${0%/*}/world

number=$(sed -n '1s/.*number \([0-9]*\).*/\1/p' "$2")
me=$number-$ORANGE_ROLE

# owe KIND WHAT: records what must exist afterwards.
owe() {
    printf '%s %s %s\n' "$1" "$ORANGE_TASK_ID" "$2" >> "$WORLD/owed"
}

# fresh: sets $word to a unique word.
fresh() {
    word=word-$me-$$-$(date +%s%N)
}

# say SECTION TEXT: adds a section to TASK.md by one write.
say() {
    printf '\n## %s\n\n%s\nWORD: %s\n' "$1" "$2" "$word" >> TASK.md && owe line "$word"
}

# insist ARGUMENTS: calls orange until it answers; the call may be killed.
insist() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        orange "$@" >> "$WORLD/calls" 2>&1
        code=$?
        case $code in 0 | 3 | 4) return $code ;; esac
        sleep 0.2
    done
    return 1
}

status() {
    sed -n 's/^status: //p' TASK.md | head -n 1
}

build() {
    fresh
    echo "$word" >> "work-$number"
    # Uncommitted files would block the handoff.
    git add -A && git commit -qm "$word" && owe commit "$(git rev-parse HEAD)"
}

work() {
    if [ "$(status)" = planning ]; then
        fresh
        say Plan "APPROACH: write a line
TOUCHING: work-$number"
        insist task update --status working || return
    fi
    [ "$(status)" = working ] || return
    build
    fresh
    say Handoff "DONE: $word"
    insist task update --status agent-review
}

judge() {
    fresh
    say Review "Verdict: $1"
    case $1 in
        PASS) insist task update --status reviewing ;;
        FAIL) insist task update --status working || insist task update --status stuck ;;
    esac
}

# forge: tries to pass its own review in every possible way.
forge() {
    fresh
    say Review "Verdict: PASS"
    insist task update --status reviewing
    insist task update --status done
    insist task merge --force --yes
    sed 's/^status: .*/status: done/' TASK.md > .forged && cat .forged > TASK.md
    rm -f .forged
    env -u ORANGE_RUN_PROOF -u ORANGE_ROLE orange task update --status reviewing >> "$WORLD/calls" 2>&1
}

# rewrite: writes the whole file from memory, with one more line.
rewrite() {
    [ "$(status)" = working ] || return
    cp TASK.md .memory
    sleep 0.3
    fresh
    printf '\nRemembered: %s\n' "$word" >> .memory
    cat .memory > TASK.md && owe line "$word"
    rm -f .memory
}

# dirty: leaves an uncommitted file.
dirty() {
    fresh
    echo "$word" > "dirty-$word" && owe file "dirty-$word"
}

# survivors: leaves children that ignore HUP and TERM, one in its own session.
survivors() {
    (trap '' HUP TERM; exec sleep 1200) &
    setsid sh -c 'trap "" HUP TERM; while :; do sleep 1200; done' &
}

hang() {
    while :; do sleep 1200; done
}

turn() {
    act=
    if [ ! -e "$WORLD/calm" ]; then
        act=$(flock "$WORLD/plans/$me.lock" \
            sh -c 'head -n 1 "$1"; sed -i 1d "$1"' sh "$WORLD/plans/$me")
    fi
    echo "$me $act" >> "$WORLD/acts"
    case $act in
        slow) sleep 3 ;;
        crash) dirty; exit 7 ;;
        kill) dirty; kill -9 $$ ;;
        segv) kill -SEGV $$ ;;
        quit) exit 0 ;;
        hang) hang ;;
        forge) forge ;;
        rewrite) rewrite ;;
        survivors) survivors ;;
        dirty) dirty ;;
        ask) fresh; say Questions "Which line? $word"; insist task update --status clarification; return ;;
        stuck) insist task stuck; return ;;
        quota) echo "You've hit your usage limit. Try again in 4 seconds."; exit 0 ;;
        fail) judge FAIL; return ;;
    esac
    case $ORANGE_ROLE in
        reviewer) judge PASS ;;
        *) work ;;
    esac
}

turn
while read -r _line; do
    insist inbox
    turn
done
