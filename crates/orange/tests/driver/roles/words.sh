#!/bin/sh
# Words for the attempts; each is a link to this file, so that they need no shell of their own.

# wait_for FILE
wait_for() {
    until [ -e "$1" ]; do sleep 0.01; done
}

word=${0##*/}
case $word in

# asking COMMAND: files a request for permission, and runs the command with its id; succeeds if the
# command does, or if the agent is allowed what it asked for.
asking)
    d=$(mktemp -d)
    requests=$ORANGE_HOME/tasks/app/$T/runs/$ORANGE_RUN_ID/requests
    touch "$d/before"
    echo '{"tool_name":"Bash","tool_input":{"command":"git push"}}' > "$d/payload"
    orange agent-ask < "$d/payload" > "$d/out" &
    hook=$!
    # A sandbox hides the folder, so its agent looks for the id in what orange shows.
    until id=$(
        find "$requests" -mindepth 1 -maxdepth 1 -newer "$d/before" ! -name '.*'
        [ -d "$requests" ] || orange attention | sed -n 's/.*orange allow \([^,]*\),.*/\1/p' | tail -n 1
    ) && [ -n "$id" ]; do
        sleep 0.01
    done 2> /dev/null
    "$@" "${id##*/}"
    code=$?
    [ $code = 0 ] && wait $hook
    kill $hook 2> /dev/null
    if grep -q allow "$d/out"; then exit 0; fi
    exit $code
    ;;

# write_answer REQUEST: writes the answer as the user's command would.
write_answer)
    echo '{"outcome":"allowed"}' > "$ORANGE_HOME/tasks/app/$T/runs/$ORANGE_RUN_ID/requests/$1/outcome.json"
    ;;

# detach COMMAND: runs it in a session of its own, when no parent is left; ends as it does.
detach)
    d=$(mktemp -d)
    (
        setsid sh -c '
            d=$1; shift
            until [ -e $d/left ]; do sleep 0.01; done
            "$@" > $d/out 2>&1; echo $? > $d/code.new; mv $d/code.new $d/code' sh "$d" "$@" &
    )
    touch "$d/left"
    wait_for "$d/code"
    cat "$d/out"
    exit "$(cat "$d/code")"
    ;;

# in_tmux COMMAND ARGUMENTS: has a server run it; ends as it does.
in_tmux)
    d=$(mktemp -d)
    printf 'cd /\nexport PATH=%s HOME=%s ORANGE_HOME=%s\n%s > %s/out 2>&1\necho $? > %s/code.new\nmv %s/code.new %s/code\n' \
        "$PATH" "$HOME" "$ORANGE_HOME" "$1" "$d" "$d" "$d" "$d" > "$d/run"
    shift
    env -u TMUX tmux "$@" "sh $d/run" || exit 1
    wait_for "$d/code"
    cat "$d/out"
    exit "$(cat "$d/code")"
    ;;

# deep COUNT COMMAND: runs it below that many processes.
deep)
    count=$1
    shift
    if [ "$count" -gt 0 ]; then
        deep $((count - 1)) "$@"
    else
        "$@"
    fi
    exit $?
    ;;

# proof_of PID: the proof that a process was started with.
proof_of)
    tr '\0' '\n' < "/proc/$1/environ" | sed -n 's/^ORANGE_RUN_PROOF=//p'
    ;;

# known_proof: its own proof; in a sandbox, each that some process has.
known_proof)
    if [ -n "$ORANGE_RUN_PROOF" ]; then
        echo "$ORANGE_RUN_PROOF"
    else
        cat /proc/[0-9]*/environ | tr '\0' '\n' | sed -n 's/^ORANGE_RUN_PROOF=//p' | grep . || echo no-proof-is-known
    fi
    ;;

# outside_main: the commit of the default branch in the user's repository, as the test sees it.
outside_main)
    rm -f "$OUT/main-is"
    touch "$OUT/main-asked"
    wait_for "$OUT/main-is"
    cat "$OUT/main-is"
    ;;

# assistant_of: the id that the processes of `orange chat` carry.
assistant_of)
    echo "assistant-$(printf %s "$ORANGE_HOME" | sha256sum | cut -c1-12)"
    ;;

# gate_of TASK: the id that the processes of a task's gates carry.
gate_of)
    echo "gate-$1-$(printf %s "$ORANGE_HOME" | sha256sum | cut -c1-12)"
    ;;

# wish TASK IN_WORKTREE: forges the file in which a status written by hand is kept.
wish)
    folder=$ORANGE_HOME/tasks/app/$1
    mkdir -p "$folder"
    version=$(sed -n 's/^version: //p' "$folder/TASK.md" || sed -n 's/^version: //p' TASK.md)
    printf '{"to":"cancelled","version":%s,"in_worktree":%s}' "$version" "$2" > "$folder/.wish"
    ;;

# pane_of ROLE: its pane.
pane_of)
    tmux -S "$ORANGE_HOME/tmux.sock" list-panes -a -F '#{@orange_role} #{pane_dead} #{pane_id}' |
        sed -n "s/^$1 0 //p"
    ;;

# typed COMMAND: types it into the reviewer's pane, and says what it says.
typed)
    d=$(mktemp -d)
    pane=$(pane_of reviewer)
    [ -n "$pane" ] || exit 1
    tmux -S "$ORANGE_HOME/tmux.sock" send-keys -t "$pane" -l "$1 > $d/out 2>&1; touch $d/done"
    tmux -S "$ORANGE_HOME/tmux.sock" send-keys -t "$pane" Enter
    wait_for "$d/done"
    cat "$d/out"
    ;;

# plant FILE: a program that leaves a trace when it runs.
plant)
    printf '#!/bin/sh\ntouch %s/%s-ran\n' "$OUT" "${1##*/}" > "$1"
    chmod +x "$1"
    ;;

# is_run NAME COMMAND: whether the reviewer's git runs what was planted; it must run here.
is_run)
    number=$(($(find "$OUT" -name 'look-*' | wc -l) + 1))
    touch "$OUT/look-$number"
    wait_for "$OUT/looked-$number"
    if [ -e "$OUT/$1-ran" ]; then exit 0; fi
    $2 > /dev/null
    [ ! -e "$OUT/$1-ran" ]
    ;;
esac
