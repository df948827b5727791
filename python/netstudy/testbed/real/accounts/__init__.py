"""Where the time of units of work goes on real testbeds: bounds of its parts.

Each unit of work is divided into parts, each with a lower and an upper bound (`bounds`). The plan
gives propagation and serialization (`way`); the kernel's clocks and counters give the times of
windows and timers (`windows`, `timers`); agents read their CPU time (`course`). The rest are round
trips, which samples of their length divide (`round_trips`). `sending` puts these together for a
connection that carries data. `account` adds units up to the record's accounts, and checks their
law.
"""
