"""The process between the two bots: the only place that opens client sockets."""
