# The machine's side of guests, in namespaces of the test: a control network and a test network, each a bridge with a
# tap device a guest. What the test network carries is limited, as the guests' emulated CPUs are.
# usage: set -- FOLDER GUESTS; . guests.sh    in the shell that runs the scripts of the test
set -eu
folder=$1 count=$2
mount -t proc proc /proc
mount --bind "$folder/passwd" /etc/passwd
mount -t tmpfs -o mode=700 tmpfs /run
ip link set lo up
for bridge in control test; do
    ip link add "$bridge" type bridge
    ip link set "$bridge" up
done
ip address add 10.97.0.254/24 dev control
for number in $(seq "$count"); do
    ip tuntap add "c$number" mode tap
    ip link set "c$number" master control up
    ip tuntap add "t$number" mode tap
    ip link set "t$number" master test up
    tc qdisc add dev "t$number" root tbf rate 20mbit burst 3200 limit 64000
done
export HOME="$folder/home" XDG_RUNTIME_DIR=/run
set +eu
