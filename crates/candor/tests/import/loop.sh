for bus in 0 1; do
    cangw -A -s can$bus -d vcan$bus -e
done
test -n "$FD" || cangw -A -s can0 -d can1
ip netns exec plant cangw -A -s can0 -d can1
cangw -A -s can0 -d can1 -X -m SET:I:123.0.0000000000000000
cangw -A -s can0 -d can1 -f 123 -l 0x2
sh -c "cangw -A -s can0 -d can1"
