# Makes what the pages take for given: files, devices' stand-ins, job files, others' results and stored runs.
# Runs in an empty folder; $ROOT is the repository, iodyno is in PATH.
set -eu

# Data, in files under the names that the pages give to files and drives.
head -c 8388608 /dev/urandom >data
mkdir -p mnt/data srv/data results after hosts

cp -r "$ROOT/examples" .
printf '[rand-read]\nfilename=data\nrw=randread\ndirect=1\nruntime=200ms\ntime_based\n' >job.fio

# Stored runs.
job() {
    name=$1; shift
    iodyno run -q --filename=data --size=8m --direct=1 --runtime=200ms --time_based "$@" --run-name "$name" >/dev/null
}
for run in before A1 B1 A2 B2 A3 B3 after; do
    job $run --name=rand-read --rw=randread
done
