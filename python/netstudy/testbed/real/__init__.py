"""Code that all testbeds with real sockets share: the protocol with the processes in their
hosts."""
