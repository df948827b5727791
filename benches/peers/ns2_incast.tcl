# Synchronized reads through one drop-tail port, in ns-2: the scenario of study.yaml beside this file.
# usage: ns ns2_incast.tcl SERVERS MTU ITERATIONS SEED
#
# An ns-2 agent of this family sends one way, so a request is not sent: it is the time that it would
# take. Its sink counts bytes with their headers, so a packet's size is given with its headers. Prints one JSON object: goodput, and drops and retransmission timeouts over all iterations.

lassign $argv servers mtu iterations seed
set block_bytes 4000000
set port_buffer_bytes 512000
set header_bytes 52 ;# IPv4 and TCP with timestamps
set request_bytes [expr {64 + $header_bytes}]
set rate_bps 1e10
set delay_s 2e-6
set jitter_s_max 20e-6
set mss [expr {$mtu - $header_bytes}]
set block_packets [expr {($block_bytes + $mss - 1) / $mss}]
set plenty 1000000

expr {srand($seed)}
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Heap

Agent/TCP set packetSize_ $mtu
Agent/TCP set useHeaders_ false
Agent/TCP set syn_ false ;# connections are open from the start
Agent/TCP set delay_growth_ false
Agent/TCP set window_ [expr {(6 << 20) / $mss}]
Agent/TCP set windowInit_ 10
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.0001
Agent/TCP set rtxcur_init_ 1.0
Agent/TCPSink set packetSize_ $header_bytes
Agent/TCPSink/Sack1/DelAck set interval_ 0.04

# The limit of a queue in bytes is its limit in packets times their mean size.
Queue/DropTail set queue_in_bytes_ true
Queue/DropTail set mean_pktsize_ 1

proc link {host limit_bytes} {
    global ns switch rate_bps delay_s mtu plenty
    $ns duplex-link $host $switch $rate_bps $delay_s DropTail
    $ns queue-limit $host $switch [expr {$plenty * 1000}]
    $ns queue-limit $switch $host $limit_bytes
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

set switch [$ns node]
set client [$ns node]
# A packet is dropped when the bytes with it reach the limit.
link $client [expr {$port_buffer_bytes + 1}]
set monitor [drop_monitor $switch $client]
for {set i 0} {$i < $servers} {incr i} {
    set host [$ns node]
    link $host [expr {$plenty * 1000}]
    set sender($i) [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $host $sender($i)
    $ns attach-agent $client $sink
    $ns connect $sender($i) $sink
    set server($i) [new Application/TcpApp $sender($i)]
    set reader($i) [new Application/TcpApp $sink]
    $server($i) connect $reader($i)
}

set busy_s 0
set iterations_left $iterations

proc ask {} {
    global ns servers server block_packets mtu asked complete
    set bytes [expr {$block_packets * $mtu}]
    set asked [$ns now]
    set complete 0
    for {set i 0} {$i < $servers} {incr i} {
        $ns at [expr {$asked + [request_s $i]}] "$server($i) send $bytes complete"
    }
}

# From the client's send to the server's answer: its turn on the client's link, two links, the jitter.
proc request_s {i} {
    global request_bytes rate_bps delay_s jitter_s_max
    set transmission [expr {8 * $request_bytes / $rate_bps}]
    return [expr {($i + 2) * $transmission + 2 * $delay_s + rand() * $jitter_s_max}]
}

# Called when the client has a block whole.
proc complete {} {
    global ns servers complete asked busy_s iterations_left
    if {[incr complete] < $servers} return
    set busy_s [expr {$busy_s + [$ns now] - $asked}]
    if {[incr iterations_left -1] == 0} finish else ask
}

proc finish {} {
    global servers iterations block_bytes sender monitor busy_s
    set timeouts 0
    for {set i 0} {$i < $servers} {incr i} {
        incr timeouts [$sender($i) set nrexmit_]
    }
    set goodput [expr {8e-6 * $block_bytes * $servers * $iterations / $busy_s}]
    set drops [$monitor set pdrops_]
    puts [format {{"goodput_mbps": %.3f, "drops": %d, "timeouts": %d}} $goodput $drops $timeouts]
    exit 0
}

$ns at 0.001 ask
$ns run
