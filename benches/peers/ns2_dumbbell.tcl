# Bulk transfers over a link that all of them share, in ns-2: the scenario of dumbbell.yaml beside this
# file.
# usage: ns ns2_dumbbell.tcl PAIRS MTU PACKETS SEED
#
# PACKETS are those of each transfer. A packet's size is given with its headers. Prints one JSON object:
# goodput until the last transfer has ended, and all drops and retransmission timeouts.

lassign $argv pairs mtu packets seed
source [file join [file dirname [info script]] ns2_settings.tcl]
set limit_bytes [expr {$port_buffer_bytes + 1}]

set ns [new_simulator $mtu $seed]
set west [$ns node]
set east [$ns node]
link $west $east $limit_bytes $limit_bytes
set monitors [list [drop_monitor $west $east]]
for {set i 0} {$i < $pairs} {incr i} {
    set from [$ns node]
    set to [$ns node]
    link_host $from $west $limit_bytes
    link_host $to $east $limit_bytes
    lappend monitors [drop_monitor $east $to]
    lassign [connection $from $to] sender($i) writer($i)
    # All start within 20 us, so that the order of the first windows is not that of the hosts.
    $ns at [expr {0.001 + rand() * 20e-6}] "transfer $writer($i)"
}
set transfers_left $pairs

# Writes a transfer, in parts whose bytes an int of ns-2 holds.
proc transfer {writer} {
    global packets mtu
    set part 100000
    for {set left $packets} {$left > $part} {incr left -$part} {
        $writer send [expr {$part * $mtu}] part_complete
    }
    $writer send [expr {$left * $mtu}] complete
}

# Called when a receiver has a part that is not the last.
proc part_complete {} {}

# Called when a receiver has all of its transfer.
proc complete {} {
    global transfers_left
    if {[incr transfers_left -1] == 0} finish
}

proc finish {} {
    global ns pairs packets mtu header_bytes sender monitors
    set timeouts 0
    for {set i 0} {$i < $pairs} {incr i} {
        incr timeouts [$sender($i) set nrexmit_]
    }
    set drops 0
    foreach monitor $monitors {
        incr drops [expr {int([$monitor set pdrops_])}]
    }
    set bits [expr {8.0 * $pairs * $packets * ($mtu - $header_bytes)}]
    set goodput [expr {1e-6 * $bits / ([$ns now] - 0.001)}]
    puts [format {{"goodput_mbps": %.3f, "drops": %d, "timeouts": %d}} $goodput $drops $timeouts]
    exit 0
}

$ns run
