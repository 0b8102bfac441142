#!/bin/sh
# Two assistants that share a folder, no daemon: ada hands something over and posts two tasks, bob answers and works them
# off; one of his leases runs out and the task goes to ada. Run it as it stands, or read it as a list of commands:
#   PATH=$PWD/build/release:$PATH deploy/examples/two-assistants.sh [FOLDER]
# An assistant needs two lines in what its client passes on: COLLAB_ROOT=<folder>, COLLAB_ACTOR=<its name>; it then runs
# `inbox-poller mailbox recv --timeout 100s`, or has the same as tools: `inbox-poller mcp`. docs/reference/mailboxes.md says more.
set -eu
COLLAB_ROOT=${1:-$(mktemp -d)}
export COLLAB_ROOT
mkdir -p "$COLLAB_ROOT" && chmod go-w "$COLLAB_ROOT"
ada() { COLLAB_ACTOR=ada inbox-poller mailbox "$@"; }
bob() { COLLAB_ACTOR=bob inbox-poller mailbox "$@"; }
id_of() { sed -n 's/.*"id":"\([^"]*\)".*/\1/p'; }

echo "--- ada hands over (which makes the mailbox of bob), bob reads and answers, ada waits for exactly that answer"
handoff=$(ada send bob '{"task": "review", "branch": "x"}' --type handoff --json | id_of)
bob recv --timeout 10s
bob send ada 'two remarks in the diff' --in-reply-to "$handoff" --type ack >/dev/null
ada recv --reply-to "$handoff" --timeout 10s

echo "--- two tasks, the urgent one first"
ada post 'update the changelog' >/dev/null
ada post 'the build is red' --priority 5 >/dev/null
first=$(bob claim --json | id_of)
bob heartbeat "$first" --lease 5min >/dev/null
bob complete "$first" '{"fixed": true}'

echo "--- bob takes the other one, for too short a time: a sweep gives it back, and ada does it"
bob claim --lease 10ms >/dev/null
sleep 1.2
ada sweep
second=$(ada claim --json | id_of)
ada complete "$second" done >/dev/null

echo "--- where everything stands"
inbox-poller tasks
ada inbox
