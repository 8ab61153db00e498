#!/bin/busybox sh
# The guest's first and only process: mounts what a machine has, waits for the drives, then carries out the
# host's commands from a virtio serial port, one at a time.
#
# Request:  <id> <seconds> <command in base64>\n
# Answer:   <id> <exit status> <bytes of stdout> <bytes of stderr>\n<stdout><stderr>
# The first answer, with id 0, comes unasked when the machine is ready.
export PATH=/bin HOME=/root LD_LIBRARY_PATH=/lib TERM=dumb
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir -p /dev/shm && mount -t tmpfs shm /dev/shm
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
mount -t tracefs tracing /sys/kernel/tracing 2>/dev/null
hostname iodyno-lab
for module in /modules/*.ko; do insmod "$module" || echo "insmod $module failed"; done

# Drives are probed asynchronously and nothing tells when the last one is there.
wanted=$(sed -n 's/.*lab\.drives=\([0-9]*\).*/\1/p' /proc/cmdline)
tries=0
until [ "$(ls -d /sys/class/nvme/nvme*/nvme*n* 2>/dev/null | wc -l)" -ge "${wanted:-0}" ] || [ $tries -ge 600 ]; do
    usleep 50000
    tries=$((tries + 1))
done

port=
for name in /sys/class/virtio-ports/*/name; do
    [ "$(cat "$name")" = lab.agent ] && port=/dev/$(basename "$(dirname "$name")")
done
[ -n "$port" ] || { echo "no port to the host"; poweroff -f; }
exec 3<>"$port"

answer() { # id, exit status
    echo "$1 $2 $(stat -c %s /run/out) $(stat -c %s /run/err)" >&3
    cat /run/out /run/err >&3
}
cut -d' ' -f1 /proc/uptime >/run/out
: >/run/err
answer 0 0
while read -r id seconds command <&3; do
    echo "$command" | base64 -d >/run/command
    # -k: the command may ignore the first signal.
    timeout -k 5 "$seconds" sh /run/command >/run/out 2>/run/err </dev/null
    answer "$id" $?
done
poweroff -f
