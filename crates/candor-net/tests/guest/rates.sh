# Frames of cangen through cannelloni and candor-link: how many arrive.
modprobe -a can can-raw vcan vxcan sch_netem 2>/dev/null
ip link set lo up
for i in x y; do ip link add $i type vxcan peer name $i-net; ip link set $i up; ip link set $i-net up; done
latency() { candor-lab tester --send x --monitor x-net --receive y --frames 300 --warm-up 30 --records rec-$1 > rec.out 2>&1; tail -12 rec.out; }
rate() { for g in 0.5 0.2 0.1 0.05; do
 b=$(cat /sys/class/net/y/statistics/rx_packets); s=$(cut -d' ' -f1 /proc/uptime); cangen x -g $g -n 2000 -I 123 -L 8 -D i; e=$(cut -d' ' -f1 /proc/uptime); sleep 0.5
 echo "$1 gap $g: from $s to $e s, $(( $(cat /sys/class/net/y/statistics/rx_packets) - b )) of 2000 received"; done; }
run() { echo "== $1"; latency $1; rate $1; kill $A $B; sleep 0.3; }
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
d=0; tc qdisc del dev lo root; cann ""
