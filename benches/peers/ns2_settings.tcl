# What all scenarios of this folder share in ns-2: sizes, rates, the agents' TCP.

set port_buffer_bytes 512000
set header_bytes 52 ;# IPv4 and TCP with timestamps
set rate_bps 1e10
set delay_s 2e-6
set plenty 1000000

# A simulator whose packets have `mtu` bytes, with their headers.
proc new_simulator {mtu seed} {
    global header_bytes
    expr {srand($seed)}
    remove-all-packet-headers
    add-packet-header IP TCP Flags
    set ns [new Simulator]
    $ns use-scheduler Heap

    Agent/TCP set packetSize_ $mtu
    Agent/TCP set useHeaders_ false
    Agent/TCP set syn_ false ;# connections are open from the start
    Agent/TCP set delay_growth_ false
    Agent/TCP set window_ [expr {(6 << 20) / ($mtu - $header_bytes)}]
    Agent/TCP set windowInit_ 10
    Agent/TCP set minrto_ 0.2
    Agent/TCP set tcpTick_ 0.0001
    Agent/TCP set rtxcur_init_ 1.0
    Agent/TCPSink set packetSize_ $header_bytes
    Agent/TCPSink/Sack1/DelAck set interval_ 0.04

    # The limit of a queue in bytes is its limit in packets times their mean size.
    Queue/DropTail set queue_in_bytes_ true
    Queue/DropTail set mean_pktsize_ 1
    return $ns
}

# A link, and the bytes that either end may have queued.
proc link {one other one_bytes other_bytes} {
    global ns rate_bps delay_s
    $ns duplex-link $one $other $rate_bps $delay_s DropTail
    $ns queue-limit $one $other $one_bytes
    $ns queue-limit $other $one $other_bytes
}

# A link of a host, which never drops, to a switch, whose port drops a packet when the bytes with it
# reach the limit.
proc link_host {host switch limit_bytes} {
    global plenty
    link $host $switch [expr {$plenty * 1000}] $limit_bytes
}

# Counts what a port drops, and nothing else: a monitor of the whole queue would cost time a packet.
proc drop_monitor {from to} {
    global ns
    set monitor [new QueueMonitor]
    set snoop [new SnoopQueue/Drop]
    $snoop set-monitor $monitor
    $snoop target [$ns set nullAgent_]
    [[$ns link $from $to] queue] drop-target $snoop
    return $monitor
}

# A connection from one node to another: the agents, and the applications that count bytes.
proc connection {from to} {
    global ns
    set sender [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $from $sender
    $ns attach-agent $to $sink
    $ns connect $sender $sink
    set writer [new Application/TcpApp $sender]
    set reader [new Application/TcpApp $sink]
    $writer connect $reader
    return [list $sender $writer]
}
