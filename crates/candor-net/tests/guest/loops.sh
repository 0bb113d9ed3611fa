# A ring of two gateways and two links: each frame comes back to its gateway once, and is refused there.
ip link set lo up
ip link add a0 type vcan; ip link set a0 up
candor run loop1.toml --metrics 127.0.0.1:9316 > g1.log 2>&1 &
candor run loop2.toml --metrics 127.0.0.1:9317 > g2.log 2>&1 &
sleep 3
for i in 0 1 2 3 4 5 6 7 8 9; do cansend a0 10$i#1122; done
sleep 2
printf 'GET /metrics HTTP/1.0\r\n\r\n' | nc 127.0.0.1 9316 | grep "^candor_link.*\(received\|sent\|refused\|lost\)"
printf 'GET /metrics HTTP/1.0\r\n\r\n' | nc 127.0.0.1 9317 | grep "^candor_link.*\(received\|sent\|refused\|lost\)"
grep Link g1.log g2.log
# reload: a second bus is added, links go on; then one link changes
printf '\n[[route]]\nname = "back"\nfrom = "a"\nto = "can"\n' >> loop1.toml
candor reload loop1.toml; sleep 1
grep -c "connected" g1.log
sed -i 's/bus = "y"/bus = "y"\nmax-age = "50ms"/' loop1.toml
candor reload loop1.toml; sleep 2
grep "Link\|reload" g1.log | tail -6
