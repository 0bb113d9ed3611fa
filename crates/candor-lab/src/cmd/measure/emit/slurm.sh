#!/bin/sh
# Measures {plan} in {count} shards and merges them; printed by candor-lab measure --emit {system}.
# Options of sbatch may follow:        sh THIS --partition=lab --time=2:00:00
# Repeat the shards that merge lists:  sh THIS --array=7,12
set -eu
: "${CANDOR_LAB:=candor-lab}"
export CANDOR_LAB CANDOR_SHARDS={count}
mkdir -p {parts}
job=$(sbatch --parsable --job-name={job} --requeue --open-mode=append --output={parts}/%a.log --array=1-{count} "$@" <<'END'
#!/bin/sh
"$CANDOR_LAB" measure {plan} --shard auto --out {parts}/"$SLURM_ARRAY_TASK_ID"
status=$?
# 75: try again later.
if [ "$status" = 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
END
)
job=${job%%;*}
# Whatever the tasks' status: merge lists what is missing.
merge=$(sbatch --parsable --job-name={job}-merge --output={parts}/merge.log --dependency="afterany:$job" <<'END'
#!/bin/sh
exec "$CANDOR_LAB" merge {parts}/* --out {out}
END
)
echo "array $job, then merge ${merge%%;*}: {parts}/merge.log"
