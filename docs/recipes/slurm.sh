#!/bin/bash
#SBATCH --job-name=perflog
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --requeue
# Reads one share of the logs as a task of a Slurm array. The array counts from 1 to the number of shares:
#
#   job=$(sbatch --parsable --array=1-64 slurm.sh /data/logs 64 /data/parts)
#   sbatch --dependency="afterok:$job" --wrap 'perflog merge /data/parts --quiet -o result.json'
#
# Where the seventh task failed: sbatch --array=7 slurm.sh /data/logs 64 /data/parts
set -euo pipefail
logs=${1:?usage: sbatch --array=1-SHARES slurm.sh LOGS SHARES PARTS}
shares=${2:?usage: sbatch --array=1-SHARES slurm.sh LOGS SHARES PARTS}
parts=${3:?usage: sbatch --array=1-SHARES slurm.sh LOGS SHARES PARTS}
number=${SLURM_ARRAY_TASK_ID:?submit this script with sbatch --array=1-$shares}
mkdir -p "$parts"
perflog extract "$logs" --quiet --shard "$number/$shares" -o "$parts/part$number.parquet"
