#!/usr/bin/env bash
# Reads logs with GNU parallel, a share for each job, and merges the parts into result.json.
#
#   bash parallel.sh LOGS SHARES [options of parallel, such as --jobs 8]
#
# On several machines that see the same folders: bash parallel.sh /data/logs 64 --sshlogin node1,node2 --workdir .
# The parts are written to parts/ in the working folder. Run the script again where a job failed: parts that are there
# are not read again. Remove parts/ first where the logs have changed.
set -euo pipefail
logs=${1:?usage: bash parallel.sh LOGS SHARES}
shares=${2:?usage: bash parallel.sh LOGS SHARES}
shift 2
mkdir -p parts
# One thread for each job, since as many jobs run at a time as there are processors.
parallel --halt soon,fail=1 --retries 3 "$@" \
    'test -e parts/part{1}.parquet ||' \
    'PERFLOG_THREADS=1 perflog extract {2} --quiet --shard {1}/{3} -o parts/part{1}.parquet' \
    :::: <(seq "$shares") ::: "$logs" ::: "$shares"
perflog merge parts --quiet -o result.json
