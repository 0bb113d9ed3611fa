#!/bin/sh -e
# A gateway as people write it.
modprobe vcan && modprobe can-gw
ip link set can0 up type can bitrate 500000
cangw -F
sudo cangw -A -s can0 -d can1 -e -f 123:C00007FF
cangw -XAes can0 -dcan1 -f '123:C00007FF' >/dev/null
cangw -A -s can1 -d can0 -f 18FEF100:1FFFFF00 \
    -m SET:ID:456.0.1122334455667788 \
    -m SET:L:0.8.0000000000000000   # overwrites the one above
cangw -A -s can1 -d can0 -l 1 -p 1:2F
cangw -D -s can1 -d can0 -l 1
cangw -A -s can1 -d can0 -u ABCD -m AND:I:C00007FF.0.0000000000000000 || exit 1
cangw -L
