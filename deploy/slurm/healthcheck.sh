#!/bin/bash
# HealthCheckProgram: drains this node, with the reason, if iodyno finds a FAIL. The environment is nearly empty.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export IODYNO_STORE=/var/lib/iodyno/health.sqlite
IODYNO=iodyno PUSH=() OPTIONS=()
# shellcheck source=/dev/null
[ ! -r "${IODYNO_HEALTHCHECK:=/etc/iodyno/healthcheck}" ] || . "$IODYNO_HEALTHCHECK"
node=${SLURMD_NODENAME:-$(hostname -s)}

reason=$("$IODYNO" accept quick --quiet --drain-hint "${PUSH[@]}" "${OPTIONS[@]}")
status=$?
# 1: a FAIL; 3: a drive that gives errors or no answer. What cannot be judged, or was not begun, drains nothing.
# A node that is drained already keeps the reason that somebody gave it.
if [ -n "$reason" ] && { [ $status -eq 1 ] || [ $status -eq 3 ]; } &&
    ! scontrol show node "$node" | grep -q 'State=[^ ]*DRAIN'; then
    scontrol update NodeName="$node" State=DRAIN Reason="$reason"
fi
# slurmd keeps nothing of what is printed: a check that never begins would look like a healthy node.
case $status in
0 | 1 | 3) ;;
*) logger -s -t iodyno-healthcheck "exit status $status, not drained: ${reason:-not judged; run it by hand}" ;;
esac
"$IODYNO" runs prune --quiet --keep 100
exit 0
