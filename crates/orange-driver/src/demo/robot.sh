#!/bin/sh
# The agent of `orange demo`: it follows a script, and asks orange as every agent does.
#
# A turn begins when it starts and whenever a line is typed into its pane. What it does in a turn
# depends on its role, on the branch, and on where the task is.

pause=${DEMO_PAUSE:-2}
sign=$(printf '\033[33m●\033[0m')
dim=$(printf '\033[2m')
off=$(printf '\033[0m')

# say TEXT: tells what it does, and takes its time.
say() {
    printf '%s %s\n' "$sign" "$*"
    sleep "$pause"
}

# ask ARGUMENTS: calls orange, and shows what it answers.
ask() {
    printf '  %s$ orange %s%s\n' "$dim" "$*" "$off"
    orange "$@" 2>&1 | sed 's/^/    /'
    sleep "$pause"
}

# tell EVENT: what it seems to be doing, for the list.
tell() {
    orange agent-event "$1" < /dev/null
}

# section NAME: adds a section with what is on the standard input to TASK.md, by one write.
section() {
    text=$(cat)
    printf '\n## %s\n\n%s\n' "$1" "$text" >> TASK.md
    printf '  %s+ ## %s%s\n' "$dim" "$1" "$off"
    printf '%s\n' "$text" | sed "s/^/    /"
    sleep "$pause"
}

# commit TEXT: everything that has changed.
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
    say 'I cannot tell what is wanted.'
    printf '1. Nicer how: longer, or with the name of who is greeted?\n' | section Questions
    [ "$1" = clarification ] || ask task update --status clarification
    printf '\nI wait for an answer: press i in the dashboard, or write it here.\n'
}

plan() {
    say 'I read TASK.md, and think of a way.'
    case $branch in
        french) printf 'APPROACH: a word for French\nTOUCHING: words/fr\n' ;;
        polite) printf 'APPROACH: the name after the word\nTOUCHING: greet.sh\n' ;;
        *) printf 'APPROACH: the shortest that could work\nTOUCHING: %s.txt\n' "$name" ;;
    esac | section Plan
    ask task update --status working
}

work() {
    if [ "$branch" = french ]; then
        say 'Could I be done already?'
        ask task complete
        say 'I could not. So I work.'
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
            printf 'Done by the robot of the demo.\n' > "$name.txt"
            commit "Work on $name" ;;
    esac
    hand_over 'what the plan says'
}

mend() {
    say 'Somebody wants it otherwise.'
    if grep -qs Bonjuor words/fr; then
        echo Bonjour > words/fr
        commit 'Spell it as the French do'
    else
        printf 'Changed as asked.\n' >> "$name.txt"
        commit 'Change what was asked for'
    fi
    hand_over 'what was asked for'
}

hand_over() {
    printf 'DONE: %s\n' "$1" | section Handoff
    ask task complete
}

review() {
    say 'I judge what another agent did.'
    ask task diff --stat
    if grep -qs Bonjuor words/fr; then
        printf 'Verdict: FAIL\n`words/fr` says Bonjuor; it is spelled Bonjour.\n' | section Review
        ask task update --status working
    else
        printf 'Verdict: PASS\nIt does what was asked for.\n' | section Review
        ask task update --status reviewing
    fi
}

# box: an input box. What was typed while it worked stands in it, as in those of other agents.
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
    # What was decided, which TASK.md says a moment later.
    status=$(orange task show --json | sed -n 's/^ *"status": "\(.*\)".*/\1/p' | head -n 1)
    [ "$1" = first ] || ask inbox
    waits=idle
    case $ORANGE_ROLE.$status in
        reviewer.*)
            review ;;
        *.clarification)
            if has Questions; then
                say 'Now I know.'
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
            if has Handoff; then mend; else work; fi ;;
        *)
            printf 'There is nothing for me to do before the task moves on.\n' ;;
    esac
    box
    tell "$waits"
}

turn first
while read -r line; do
    turn next
done
