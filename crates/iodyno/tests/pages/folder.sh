# Creates what the pages assume: files, job files, results of other tools and stored runs.
# Runs in an empty folder; $ROOT is the repository, iodyno is in PATH.
set -eu

mkdir -p mnt/data srv/data after results hosts var/lib/node_exporter var/lib/etcd usr/local/bin .config/iodyno/datasheets
head -c 8388608 /dev/urandom >data
truncate -s 64m data
cp -r "$ROOT/examples" .
cp "$ROOT"/crates/iodyno/tests/studies/970-evo.toml .
cp "$ROOT"/crates/iodyno/tests/captured/lab.json.gz .
cp "$ROOT"/profiles/etcd.toml my-application.toml
cp "$ROOT"/lab/datasheet.toml .config/iodyno/datasheets/

job='--filename=data --size=8m --direct=1 --runtime=100ms --time_based'
printf '[rand-read]\nfilename=data\nsize=8m\nrw=randread\ndirect=1\nruntime=100ms\ntime_based\n' >job.fio
sed s/rand-read/cached/ job.fio >cached.fio
printf '| name | rw | bs | iodepth | IOPS |\n|--|--|--|--|--|\n| rnd | randread | 4k | 32 | 422k |\n| seq | read | 128k | 8 | 24k |\n' >study.md

# An archive as make dist packs it.
archive=iodyno-0.1.0-x86_64-linux-musl
mkdir -p $archive/man $archive/completions
iodyno man $archive/man
iodyno completions bash >$archive/completions/iodyno.bash
iodyno completions zsh >$archive/completions/_iodyno
iodyno completions fish >$archive/completions/iodyno.fish
cp "$(command -v iodyno)" $archive
tar cf $archive.tar.gz $archive
# Its packages: `make packages-test` installs them, here only their names matter.
touch iodyno_0.1.0-1_amd64.deb iodyno-0.1.0-1.x86_64.rpm iodyno-0.1.0-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl
cp "$ROOT"/dist/Containerfile "$ROOT"/dist/recipes/* .

# Results of other tools.
iodyno run -q job.fio --output-format=json --output=fio.json
cp fio.json results
iodyno show lab.json.gz --json >hosts/db01.json || true
mkdir -p deploy/ansible srv/acceptance; cp hosts/db01.json srv/acceptance; cp "$ROOT"/crates/host/tests/fixtures/links.json server7.json
for name in before database web after/after; do cp fio.json $name.json; done

# Stored runs; a sweep for each figure.
for run in before A1 B1 A2 B2 A3 B3 after fio1 native1; do
    iodyno run -q job.fio --run-name $run >/dev/null
done
sweep() {
    name=$1; shift
    iodyno sweep -q --target data --set size=8m --set direct=1 --set rw=randread --max-time 100ms "$@" --name "$name" >/dev/null
}
sweep bs --grid bs=4k,64k
sweep depth --grid iodepth=1,2,4,8
sweep grid --grid iodepth=1,8 --grid numjobs=1,2
sweep four --grid rw=read,randread
sweep four-again --grid rw=read,randread
iodyno run -q --name=t $job --runtime=1 --rw=randread --run-name time >/dev/null
head -c 8388608 data >data2
iodyno sweep -q scaling --target data --target data2 --max-time 100ms --name scale >/dev/null
iodyno sweep -q snia-throughput --target data --set size=4m --scale 0.0001 --name throughput --allow-write data >/dev/null
iodyno import -q lab.json.gz --name last-of-lab >/dev/null || true

# A trace: bursts of reads, and a log that is flushed.
awk 'BEGIN {
    print "fio version 3 iolog\n0 /dev/nvme0n1 add\n0 /dev/nvme0n1 open"
    for (n = 0; n < 4000; n++) {
        us = int(n / 40) * 20000 + n % 40 * 60
        print us " /dev/nvme0n1 read " n * n % 2000 * 8192 " 8192"
        if (n % 40 == 39) print us + 100 " /dev/nvme0n1 write " 67108864 + int(n / 40) * 4096 " 4096\n" us + 400 " /dev/nvme0n1 sync 0 0"
    }
}' >prod.iolog
iodyno import prod.iolog -o prod.iotrace
