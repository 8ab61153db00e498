#!/bin/bash
# Prolog: a node with a FAIL, or a drive that does not answer, takes no job; Slurm drains it and requeues the job.
# Links and health alone, no load.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export IODYNO_STORE=/var/lib/iodyno/health.sqlite
IODYNO=iodyno OPTIONS=()
# shellcheck source=/dev/null
[ ! -r "${IODYNO_HEALTHCHECK:=/etc/iodyno/healthcheck}" ] || . "$IODYNO_HEALTHCHECK"
timeout 10 "$IODYNO" check --quiet --no-load "${OPTIONS[@]}" >/dev/null
status=$?
# Each look is a run in the store.
timeout 5 "$IODYNO" runs prune --quiet --keep 100 >/dev/null 2>&1
# 1: a FAIL; 3, and 124 after the time: a drive that gives errors or no answer. What was not begun (2: a mistyped option,
# 126 and 127: no binary) is the same on all nodes, and drains none.
case $status in
1 | 3 | 124) exit 1 ;;
0 | 4) exit 0 ;;
*)
    # Nobody would see that nodes are no longer checked.
    logger -s -t iodyno-prolog "iodyno check: exit status $status, not judged: the job begins; run it by hand"
    exit 0
    ;;
esac
