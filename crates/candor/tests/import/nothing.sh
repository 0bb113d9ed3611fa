modprobe can-gw
cangw -L
