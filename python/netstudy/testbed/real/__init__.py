"""What testbeds with real sockets share: how they talk to the processes in their hosts."""
