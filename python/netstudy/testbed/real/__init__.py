"""Shared by testbeds with real sockets: the protocol with the processes in their hosts."""
