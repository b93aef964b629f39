#!/bin/sh
# The scripted agent: each turn runs scripts/<role>-<turn> beside it.
#
# A turn begins when the agent starts and whenever a line is typed into its pane. Turns are counted
# per role across starts, so that a respawned agent continues with the next script. A
# script is shell: it may `exit 7`, `kill -9 $$`, and use the words below.

SCRIPTS=${0%/*}/scripts

# A loaded machine is slow.
export ORANGE_WAIT=2m

# section NAME: adds a section with the standard input to TASK.md, in one write. A handoff needs a
# commit, so this makes one if the script has not.
section() {
    text=$(cat)
    if [ "$1" = Handoff ] && [ -z "$(git log --format=%h main..HEAD 2>/dev/null)" ]; then
        commit "Some work"
    fi
    printf '\n## %s\n\n%s\n' "$1" "$text" >> TASK.md
}

# commit TEXT: does some work.
commit() {
    echo "$1" >> work.txt
    git add work.txt
    git commit -qm "$1"
}

# pause NAME: waits until the test has written that file.
pause() {
    until [ -e "$SCRIPTS/$1" ]; do sleep 0.02; done
}

# give NAME: hands the test the standard input as that file, which is never seen half written.
give() {
    cat > "$SCRIPTS/$1.new" && mv "$SCRIPTS/$1.new" "$SCRIPTS/$1"
}

# hang: never reacts, whatever is typed.
hang() {
    touch "$SCRIPTS/hangs"
    while :; do sleep 600; done
}

# ask ARGUMENTS: calls orange, and records its output.
ask() {
    said=$(orange "$@" 2>&1)
    code=$?
    printf '%s %s: orange %s -> %s\n%s\n' "$ORANGE_ROLE" "$turn" "$*" "$code" "$said" >> "$SCRIPTS/calls"
    return $code
}

# remember, rewrite: write all of TASK.md from memory, as an agent with an editor tool does.
remember() {
    cp TASK.md "$SCRIPTS/memory"
}
rewrite() {
    cat "$SCRIPTS/memory" > TASK.md
}

# edit_status STATUS: writes a status into TASK.md by hand.
edit_status() {
    sed "s/^status: .*/status: $1/" TASK.md > .edited && cat .edited > TASK.md
    rm .edited
}

# children: leaves one that ignores HUP and TERM, and one in its own session.
children() {
    (trap '' HUP TERM; exec sleep 600) &
    echo $! >> "$SCRIPTS/children"
    setsid sh -c 'echo $$ >> "$1/children"; trap "" HUP TERM; while :; do sleep 600; done' sh "$SCRIPTS" &
    until [ "$(wc -l < "$SCRIPTS/children")" -ge 2 ]; do sleep 0.02; done
}

# box: its own input box; reads up to Enter into $typed.
box() {
    stty raw -echo
    printf '> '
    touch "$SCRIPTS/box"
    typed=
    keys
}
keys() {
    enter=$(printf '\r')
    while :; do
        key=$(dd bs=512 count=1 2>/dev/null; printf x)
        key=${key%x}
        typed=$typed${key%"$enter"*}
        printf '%s' "${key%"$enter"*}"
        case $key in
            *"$enter"*) echo enter >> "$SCRIPTS/enters"; return ;;
        esac
    done
}

# swallow COUNT: drops so many Enters; the text finally sent is in `sent`.
swallow() {
    box
    lost=$1
    while [ "$lost" -gt 0 ]; do lost=$((lost - 1)); keys; done
    printf '\r\n> '
    stty sane
    printf '%s\n' "$typed" >> "$SCRIPTS/sent"
}

# flicker: drops the first Enter, and clears its box for a moment before it shows the text again.
flicker() {
    box
    printf '\r\033[K'
    sleep 0.5
    printf '> %s' "$typed"
    keys
    orange agent-event prompt-submitted
    printf '\r\n> '
    stty sane
    printf '%s\n' "$typed" >> "$SCRIPTS/sent"
}

# dialog: asks its own question instead of reading what was typed.
dialog() {
    box
    printf '\r\n\r\nUpdate available\r\n❯ 1. Install\r\n  2. Skip\r\n'
    while :; do keys; done
}

next() {
    count="$SCRIPTS/.$ORANGE_ROLE"
    # Agents of several tasks count together; the lock ends with its holder.
    turn=$(flock "$count.lock" sh -c \
        'n=$(($(cat "$1" 2>/dev/null || echo 0) + 1)); echo $n > "$1.new"; mv "$1.new" "$1"; echo $n' \
        sh "$count")
    if [ -f "$SCRIPTS/$ORANGE_ROLE-$turn" ]; then
        . "$SCRIPTS/$ORANGE_ROLE-$turn"
    fi
    echo "$ORANGE_ROLE-$turn" >> "$SCRIPTS/turns"
}

if [ "$1" != --prompt-file ] || [ ! -f "$2" ]; then
    echo "usage: agent --prompt-file FILE" >&2
    exit 2
fi
prompt_file=$2 argument_three=$3 argument=$4
next
while read -r line; do
    next
done
