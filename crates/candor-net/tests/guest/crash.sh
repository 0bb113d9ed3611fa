# The program crashes, and then the gateway.
ip link set lo up; ip link add a0 type vcan; ip link set a0 up
candor run loop1.toml > g1.log 2>&1 & G=$!
candor run loop2.toml > g2.log 2>&1 & H=$!
sleep 3
for i in 1 2; do kill -9 $(ps | grep "exe work" | grep -v grep | head -1 | awk '{print $1}'); sleep 2; done
cat g1.log g2.log | grep -i link
ps | grep candor | head
echo gateway is killed; kill -9 $G; sleep 1; ps | grep candor-link; ip -br link show type vxcan
candor run loop1.toml > g1.log 2>&1 & sleep 3; grep Link g1.log
