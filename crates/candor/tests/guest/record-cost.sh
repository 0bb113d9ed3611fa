# Processor time of `candor record` for two full buses of 1 Mbit/s: frames of 8 bytes without stuff bits, 9009 a second on each.
frames() {
    echo $(($(cat /sys/class/net/can1/statistics/rx_packets) + $(cat /sys/class/net/can3/statistics/rx_packets)))
}
# In ns, of all threads.
process() {
    cat /proc/$1/task/*/schedstat | awk '{ all += $1 } END { printf "%.0f\n", all }'
}

awk 'BEGIN { for (n = 0; n < 4505; n++) for (bus = 0; bus < 2; bus++) printf "(%.6f) bus%d 2AA#5555555555555555\n", n / 9009, bus }' > full.log
candor-lab replay full.log --onto bus0=can0,bus1=can4 --repeat 1000 > replay.out & sender=$!
sleep 1
for way in ring socket; do
    candor record can1 can3 --through $way --out $way.pcapng & recorder=$!
    sleep 1
    began=$(cut -d ' ' -f 1 /proc/uptime) frames=$(frames) process=$(process $recorder)
    sleep 5
    echo "$way $began $(cut -d ' ' -f 1 /proc/uptime) $(($(frames) - frames)) $(($(process $recorder) - process))" |
        awk '{ time = $3 - $2
               printf "%s: %d frames in %.2f s; %.2f %% of the processor, %.0f instructions a frame\n",
                      $1, $4, time, $5 / time / 1e7, $5 / $4 }'
    kill $recorder
    wait $recorder
done
kill $sender; wait $sender; cat replay.out
