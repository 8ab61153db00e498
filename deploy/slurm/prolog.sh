#!/bin/bash
# Prolog: a node with a FAIL takes no job; Slurm drains it and requeues the job. Links and health alone, no load.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export IODYNO_STORE=/var/lib/iodyno/health.sqlite
IODYNO=iodyno OPTIONS=()
# shellcheck source=/dev/null
[ ! -r "${IODYNO_HEALTHCHECK:=/etc/iodyno/healthcheck}" ] || . "$IODYNO_HEALTHCHECK"
timeout 10 "$IODYNO" check --quiet --no-load "${OPTIONS[@]}" >/dev/null
[ $? -ne 1 ]
