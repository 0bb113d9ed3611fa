# Latency through cannelloni and candor-link, one frame at a time.
modprobe -a can can-raw vcan vxcan sch_netem 2>/dev/null
ip link set lo up
for i in x y; do ip link add $i type vxcan peer name $i-net; ip link set $i up; ip link set $i-net up; done
N=0
latency() { N=$((N+1)); candor-lab tester --send x --monitor x-net --receive y --frames 400 --warm-up 20 --records rec-$N > rec.out 2>&1; candor-lab report rec-$N 2>&1 | tail -8; }
run() { echo "== $1"; latency; kill $A $B; sleep 0.3; }
cann() { cannelloni -I y-net -R 127.0.0.1 -r 20001 -l 20002 $1 > c2.log 2>&1 & A=$!; cannelloni -I x-net -R 127.0.0.1 -r 20002 -l 20001 $1 > c1.log 2>&1 & B=$!; sleep 0.5; run "cannelloni $1, delay $d"; }
udp() { candor-link open --protocol cannelloni-udp --interface y-net --listen 127.0.0.1:20002 --connect 127.0.0.1:20001 --flush $1 > l2.log 2>&1 & A=$!
candor-link open --protocol cannelloni-udp --interface x-net --listen 127.0.0.1:20001 --connect 127.0.0.1:20002 --flush $1 > l1.log 2>&1 & B=$!
sleep 0.5; run "candor-link cannelloni-udp flush $1, delay $d"; }
own() { candor-link open --protocol candor --interface y-net --listen 127.0.0.1:20003 --flush $1 > l2.log 2>&1 & A=$!
sleep 0.2
candor-link open --protocol candor --interface x-net --connect 127.0.0.1:20003 --flush $1 > l1.log 2>&1 & B=$!
sleep 0.7; run "candor-link candor flush $1, delay $d"; }
for d in 0 1; do
[ $d = 1 ] && tc qdisc add dev lo root netem delay 1ms limit 100000
cann "-t 2000"; udp 2ms; udp 0ms; own 0ms
done
