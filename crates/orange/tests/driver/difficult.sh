#!/bin/sh
# An agent with an input box that does not take messages in as it should: difficult HOW PROMPT_FILE
#
# plain     takes everything in
# swallow   loses the first Enter after each line
# deaf      loses every Enter
# slow      takes a while to start, and forgets what was typed meanwhile
# dialog    asks a question of its own until the file `answered` is there
# busy      looks away for a while after each line

how=$1
here=$(dirname "$2")
enter=$(printf '\r')

# What was typed, or nothing after a fifth of a second.
key() {
    key=$(dd bs=512 count=1 2>/dev/null; printf x)
    key=${key%x}
}

sent() {
    printf '%s\n' "$typed" >> "$here/sent"
    [ "$how" = slow ] && orange agent-event prompt-submitted
    printf '\r\n'
    orange inbox >> "$here/inbox" 2>> "$here/errors"
    [ "$how" = busy ] && sleep 1.5
    typed=
    printf '\r\n> '
}

if [ "$how" = slow ]; then
    sleep 2
fi
stty raw -echo min 0 time 2
if [ "$how" = slow ]; then
    key
    orange agent-event session-start
fi
if [ "$how" = dialog ]; then
    printf 'Update available\r\n❯ 1. Install\r\n  2. Skip\r\n'
    until [ -e "$here/answered" ]; do
        key
        [ -n "$key" ] && printf '%s\n' "$key" >> "$here/obeyed"
    done
    printf '\r\nSkipped.\r\n'
fi
printf '\r\n> '
typed=
lost=
while :; do
    key
    [ -z "$key" ] && continue
    case $key in
        *"$enter"*)
            if [ "$how" = deaf ] || [ "$how" = swallow -a -z "$lost" ]; then
                lost=yes
                continue
            fi
            lost=
            typed=$typed${key%"$enter"*}
            sent
            ;;
        *)
            typed=$typed$key
            printf '%s' "$key"
            ;;
    esac
done
