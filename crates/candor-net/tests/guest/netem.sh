# Lost, late and reordered packets: what the receivers count as lost is what netem dropped, or the sender.
modprobe -a sch_netem 2>/dev/null
ip link set lo up
for i in a0 b0; do ip link add $i type vcan; ip link set $i up; done
file() { printf '[bus.can]\ninterface = "%s"\n[link.%s]\nbus = "x"\n%s\n[[route]]\nname = "out"\nfrom = "can"\nto = "%s"\n[[route]]\nname = "in"\nfrom = "%s"\nto = "can"\n' $2 $1 "$3" $1 $1 > $1.toml; }
metrics() { printf 'GET /metrics HTTP/1.0\r\n\r\n' | nc 127.0.0.1 $1 | grep "^candor_link_.*_total"; }
one() { # name, netem, first, second, gap in ms
file one a0 "$3"; file two b0 "$4"
echo "== $1, netem $2"
candor run two.toml --metrics 127.0.0.1:9317 > two.log 2>&1 & B=$!
sleep 0.5
candor run one.toml --metrics 127.0.0.1:9316 > one.log 2>&1 & A=$!
sleep 2
tc qdisc replace dev lo root netem limit 100000 $2
cangen a0 -g $5 -n 3000 -I 123 -L 8 -D i
sleep 3
tc -s qdisc show dev lo | sed -n 2p
tc qdisc del dev lo root
# A gap is known when the next datagram has arrived.
cansend a0 7FF#; cansend b0 7FF#; sleep 2.5
metrics 9316 "sent\|dropped\|lost"; metrics 9317 "received\|lost\|refused"
grep -h Link one.log two.log
kill $A $B; sleep 1.5
}
UDP='protocol = "cannelloni-udp"
flush = "0ms"'
one udp "loss 5%" "$UDP
listen = \"127.0.0.1:2001\"
connect = \"127.0.0.1:2002\"" "$UDP
listen = \"127.0.0.1:2002\"
connect = \"127.0.0.1:2001\"" 1
one udp "delay 5ms reorder 20% 50%" "$UDP
listen = \"127.0.0.1:2001\"
connect = \"127.0.0.1:2002\"" "$UDP
listen = \"127.0.0.1:2002\"
connect = \"127.0.0.1:2001\"" 1
one candor "delay 5ms loss 2%" 'protocol = "candor"
connect = "127.0.0.1:2003"' 'protocol = "candor"
listen = "127.0.0.1:2003"' 1
one candor "rate 200kbit" 'protocol = "candor"
queue = 50
max-age = "100ms"
connect = "127.0.0.1:2003"' 'protocol = "candor"
listen = "127.0.0.1:2003"' 0.2
