#!/bin/sh
# Example of the report of 2011: urgent frames first, the rest throttled.
modprobe em_canid
DEV=can0
tc qdisc del dev $DEV root
tc qdisc add dev $DEV root handle 1: prio
tc filter add dev $DEV parent 1:0 prio 1 can sffid 0x80:0x780 flowid 1:1
tc qdisc add dev $DEV parent 1:3 handle 30: tbf rate 12800bit burst 16 limit 1600
tc -s qdisc show dev $DEV
