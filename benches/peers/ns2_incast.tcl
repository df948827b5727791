# Synchronized reads through one drop-tail port, in ns-2: the scenario of study.yaml beside this file.
# usage: ns ns2_incast.tcl SERVERS MTU ITERATIONS SEED
#
# An ns-2 agent of this family sends one way, so a request is not sent: it is the time that it would
# take. Its sink counts bytes with their headers, so a packet's size is given with its headers. Prints one JSON object: goodput, and drops and retransmission timeouts over all iterations.

lassign $argv servers mtu iterations seed
source [file join [file dirname [info script]] ns2_settings.tcl]
set block_bytes 4000000
set request_bytes [expr {64 + $header_bytes}]
set jitter_s_max 20e-6
set mss [expr {$mtu - $header_bytes}]
set block_packets [expr {($block_bytes + $mss - 1) / $mss}]

set ns [new_simulator $mtu $seed]
set switch [$ns node]
set client [$ns node]
link_host $client $switch [expr {$port_buffer_bytes + 1}]
set monitor [drop_monitor $switch $client]
for {set i 0} {$i < $servers} {incr i} {
    set host [$ns node]
    link_host $host $switch [expr {$plenty * 1000}]
    lassign [connection $host $client] sender($i) server($i)
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
