#!/bin/sh
# The agent of `orange demo`: it follows a script, and calls orange as every agent does.
#
# The agent takes a turn when it starts, and whenever a line is typed into its pane. What it does in
# a turn depends on its role, the branch and the status of the task.

pause=${DEMO_PAUSE:-2}
sign=$(printf '\033[33m●\033[0m')
dim=$(printf '\033[2m')
off=$(printf '\033[0m')

# say TEXT: prints what it does, then pauses.
say() {
    printf '%s %s\n' "$sign" "$*"
    sleep "$pause"
}

# ask ARGUMENTS: calls orange and prints the output.
ask() {
    printf '  %s$ orange %s%s\n' "$dim" "$*" "$off"
    orange "$@" 2>&1 | sed 's/^/    /'
    sleep "$pause"
}

# tell EVENT: reports what it is doing, for the list.
tell() {
    orange agent-event "$1" < /dev/null
}

# section NAME: appends a section with the text on standard input to TASK.md, in one write.
section() {
    text=$(cat)
    printf '\n## %s\n\n%s\n' "$1" "$text" >> TASK.md
    printf '  %s+ ## %s%s\n' "$dim" "$1" "$off"
    printf '%s\n' "$text" | sed "s/^/    /"
    sleep "$pause"
}

# commit TEXT: commits every change.
commit() {
    git add -A
    git commit -qm "$1"
    printf '  %s%s%s\n' "$dim" "$(git log -1 --format='commit %h: %s')" "$off"
    sleep "$pause"
}

has() {
    grep -q "^## $1" TASK.md
}

question() {
    say 'The task is not clear, so I ask.'
    printf '1. What is nicer: a longer greeting, or one with a name?\n' | section Questions
    [ "$1" = clarification ] || ask task update --status clarification
    printf '\nI wait for your answer: press i in the dashboard, or type it here.\n'
}

plan() {
    say 'I read TASK.md and write a plan.'
    case $branch in
        french) printf 'APPROACH: add the French word\nTOUCHING: words/fr\n' ;;
        polite) printf 'APPROACH: print the name after the word\nTOUCHING: greet.sh\n' ;;
        *) printf 'APPROACH: the simplest change that works\nTOUCHING: %s.txt\n' "$name" ;;
    esac | section Plan
    ask task update --status working
}

work() {
    if [ "$branch" = french ]; then
        say 'Can I finish without any work?'
        ask task complete
        say 'No. So I do the work.'
    fi
    case $branch in
        french)
            echo Bonjuor > words/fr
            commit 'Greet in French' ;;
        polite)
            printf '#!/bin/sh\n# Greets: greet.sh LANGUAGE NAME\n' > greet.sh
            printf 'echo "$(cat "words/${1:-en}"), ${2:-you}"\n' >> greet.sh
            commit 'Greet by name' ;;
        *)
            printf 'Written by the robot of the demo.\n' > "$name.txt"
            commit "Work on $name" ;;
    esac
    hand_over 'what the plan says'
}

fix() {
    say 'I was asked for changes.'
    if grep -qs Bonjuor words/fr; then
        echo Bonjour > words/fr
        commit 'Fix the spelling of Bonjour'
    else
        printf 'Changed as requested.\n' >> "$name.txt"
        commit 'Make the requested change'
    fi
    # Each handoff has to differ from the one before.
    hand_over "the requested change, commit $(git log -1 --format=%h)"
}

hand_over() {
    printf 'DONE: %s\n' "$1" | section Handoff
    ask task complete
}

review() {
    say 'I review the work of another agent.'
    ask task diff --stat
    if grep -qs Bonjuor words/fr; then
        printf 'Verdict: FAIL\n`words/fr`: "Bonjuor" is misspelled. Write "Bonjour".\n' | section Review
        ask task update --status working
    else
        printf 'Verdict: PASS\nIt does what the task asks for.\n' | section Review
        ask task update --status reviewing
    fi
}

# box: an input box. It shows what was typed during the turn, as other agents do.
box() {
    stty -icanon min 0 time 0 2> /dev/null
    early=$(dd bs=4096 count=1 2> /dev/null)
    printf '\n> %s' "$early"
    stty icanon echo 2> /dev/null
}

turn() {
    stty -echo 2> /dev/null
    tell working
    branch=$(git branch --show-current)
    name=$(printf '%s' "${branch:-work}" | tr / -)
    # The recorded status; TASK.md shows it a moment later.
    status=$(orange task show --json | sed -n 's/^ *"status": "\(.*\)".*/\1/p' | head -n 1)
    [ "$1" = first ] || ask inbox
    waits=idle
    case $ORANGE_ROLE.$status in
        reviewer.*)
            review ;;
        *.clarification)
            if has Questions; then
                say 'Now the task is clear.'
                plan
                work
            else
                question clarification
                waits=input-wait
            fi ;;
        *.planning)
            if [ "$branch" = polite ] && ! has Questions; then
                question planning
                waits=input-wait
            else
                plan
                work
            fi ;;
        *.working)
            if has Handoff; then fix; else work; fi ;;
        *)
            printf 'I have nothing to do until the task moves on.\n' ;;
    esac
    box
    tell "$waits"
}

turn first
while read -r line; do
    turn next
done
