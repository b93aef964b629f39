# The scripted agent: for each turn it does what $SCRIPTS/<role>-<turn> says.
#
# A turn begins when the agent starts and whenever a line is typed into its pane. Turns are counted
# per role across starts, so that an agent that was brought back goes on with the next script.

# section NAME: adds a section with what is on the standard input to TASK.md.
section() {
    { printf '\n## %s\n\n' "$1"; cat; } >> TASK.md
}

# commit TEXT: does some work.
commit() {
    echo "$1" >> work.txt
    git add work.txt
    git commit -qm "$1"
}

# pause NAME: goes on when the test has written that file.
pause() {
    until [ -e "$SCRIPTS/$1" ]; do sleep 0.02; done
}

# ask ARGUMENTS: calls orange, and keeps what it says.
ask() {
    said=$(orange "$@" 2>&1)
    code=$?
    printf '%s %s: orange %s -> %s\n%s\n' "$ORANGE_ROLE" "$turn" "$*" "$code" "$said" >> "$SCRIPTS/calls"
    return $code
}

next() {
    count="$SCRIPTS/.$ORANGE_ROLE"
    turn=$(($(cat "$count" 2>/dev/null || echo 0) + 1))
    echo "$turn" > "$count"
    if [ -f "$SCRIPTS/$ORANGE_ROLE-$turn" ]; then
        . "$SCRIPTS/$ORANGE_ROLE-$turn"
    fi
    echo "$ORANGE_ROLE-$turn" >> "$SCRIPTS/turns"
}

next
while read -r line; do
    next
done
