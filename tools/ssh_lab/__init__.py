"""A lab of hosts on one machine, each with an OpenSSH server: `tools/lab N -- COMMAND`.

A host is a set of namespaces (network, pid, mount, host name, time) in which Debian's sshd is the
first process. A control network joins the hosts with the controller, where COMMAND runs; a test
network joins the hosts with each other. Everything is in one sandbox (`testbed.netns.sandbox`), and
ends with it.

    tools/lab → unshare → inside, the first process → COMMAND
                                                    → unshare → sshd, for each host
"""
