//! Statistics on values: quantiles and the latency profile of the 2011 paper.
