# Latency, and frames/s until some are lost, of cannelloni and candor-link: over loopback, and over a veth that delays by 1 ms.
modprobe -a can can-raw vcan vxcan veth sch_netem 2>/dev/null
ip link set lo up
ip netns add far
ip link add near type veth peer name far netns far
ip address add 10.0.0.1/24 dev near && ip link set near up
ip -n far address add 10.0.0.2/24 dev far && ip -n far link set far up && ip -n far link set lo up
tc qdisc add dev near root netem delay 1ms limit 100000
ip link add x type vxcan peer name x-net
ip link set x up && ip link set x-net up

for rate in 25000 30000 35000 40000 45000 50000 55000 60000; do
    awk -v rate=$rate 'BEGIN { for (n = 0; n < rate / 2; n++) printf "(%.6f) x 123#%016X\n", n / rate, n }' > $rate.log
done

# From x to y, one frame at a time. Then for half a second frames at rates that grow, until one is lost.
measure() {
    sleep 0.7
    echo "== $1, $place"
    candor-lab tester --send x --monitor x-net --receive y --frames 400 --warm-up 20 --records records > tester.out 2>&1
    candor-lab report records | grep -E "p50|us|µs" | tail -2
    for rate in 25000 30000 35000 40000 45000 50000 55000 60000; do
        before=$(cat /sys/class/net/y/statistics/rx_packets)
        # Before all others, so that it is never late.
        chrt -f 10 candor-lab replay $rate.log --onto x=x > replay.out 2>&1
        sleep 1
        lost=$(($(wc -l < $rate.log) - $(cat /sys/class/net/y/statistics/rx_packets) + before))
        sed -n "1s/^[^:]*: \([0-9]* frames sent in [0-9.]* s\).*/$rate frames\/s: \1, $lost lost/p" replay.out
        [ $lost = 0 ] || break
    done
    kill $here $there
    wait $here $there 2>/dev/null
}

for place in loopback veth; do
    # The far side, and how to reach each side from the other one.
    if [ $place = loopback ]; then
        ip link add y type vxcan peer name y-net
        far='' us=127.0.0.1 them=127.0.0.1
    else
        ip link del y
        ip link add y type vxcan peer name y-net netns far
        far='ip netns exec far' us=10.0.0.1 them=10.0.0.2
    fi
    ip link set y up
    $far ip link set y-net up

    $far cannelloni -I y-net -R $us -r 20001 -l 20002 -t 2000 > /dev/null 2>&1 & there=$!
    cannelloni -I x-net -R $them -r 20002 -l 20001 -t 2000 > /dev/null 2>&1 & here=$!
    measure "cannelloni over UDP, -t 2000"
    for flush in 2ms 0ms; do
        $far candor-link open --protocol cannelloni-udp --interface y-net --listen $them:20002 --connect $us:20001 --flush $flush > there.log 2>&1 & there=$!
        candor-link open --protocol cannelloni-udp --interface x-net --listen $us:20001 --connect $them:20002 --flush $flush > here.log 2>&1 & here=$!
        measure "cannelloni-udp, flush $flush"
    done
    $far candor-link open --protocol candor --interface y-net --listen $them:20003 --flush 0ms > there.log 2>&1 & there=$!
    sleep 0.3
    candor-link open --protocol candor --interface x-net --connect $them:20003 --flush 0ms > here.log 2>&1 & here=$!
    measure "candor, flush 0ms"
done
cat there.log here.log
