#!/bin/sh
# Measures {plan} in {count} shards and merges them; printed by candor-lab measure --emit {system}.
# Options of GNU parallel may follow:  sh THIS --sshloginfile nodes --workdir .
# Run it again to repeat what is missing.
set -u
: "${CANDOR_LAB:=candor-lab}"
# One shard at a time on a machine, because a shard uses all of its CPUs.
seq {count} | parallel --quote --jobs 1 --retries 3 "$@" \
    "$CANDOR_LAB" measure {plan} --shard {}/{count} --out {parts}/{}
exec "$CANDOR_LAB" merge {parts}/* --out {out}
