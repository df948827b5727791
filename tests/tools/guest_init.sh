#!/bin/sh
# The first process of a guest: mounts, loads drivers, gives the addresses of /etc/addresses, becomes sshd.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
for folder in /run /tmp /srv; do
    mount -t tmpfs -o mode=755 tmpfs "$folder"
done
chmod 1777 /tmp
mkdir -p /run/sshd /srv/ns
chown 1000:1000 /srv/ns
while read -r module; do
    insmod "/modules/$module"
done </modules/order
hostname -F /etc/hostname
ip link set lo up
while read -r device address; do
    ip address add "$address" dev "$device"
    ip link set "$device" up
done </etc/addresses
exec /usr/sbin/sshd -D -e
