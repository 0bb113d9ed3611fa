# cannelloni and socketcand, built as static programs from their sources, on the other side.
ip link set lo up
for i in a0 b0 c0 a9 b9 c9; do ip link add $i type vcan; ip link set $i up; done
socketcand -i c9 -l lo -p 29536 -n > socketcand.log 2>&1 &
candor run peers.toml --metrics 127.0.0.1:9316 > gw.log 2>&1 &
G=$!
sleep 1
cannelloni -I a9 -C c -R 127.0.0.1 -r 20000 -p > can1.log 2>&1 &
cannelloni -I b9 -R 127.0.0.1 -r 20001 -l 20002 > can2.log 2>&1 &
sleep 2
candump -L a0 b0 c0 a9 b9 c9 > all.log &
sleep 0.3
for i in a0 b0 c0; do cansend $i 123#1122; cansend $i 18FEF100#0102030405060708; done
for i in a9 b9 c9; do cansend $i 321#AABB; done
cansend a0 124##3AABB; cansend b0 124##3AABB; cansend c0 124##3AABB
sleep 1.5
sort all.log | cut -d' ' -f2-
cat gw.log | grep -i link; cat can1.log can2.log socketcand.log | head
printf 'GET /metrics HTTP/1.0\r\n\r\n' | nc 127.0.0.1 9316 | grep "^candor_link"
# a server that goes away and comes back
kill $G; sleep 1; grep Link gw.log | tail -4
