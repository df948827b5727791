# The start of a host, as the first process of its pid namespace: puts the host's own files in their places, then
# becomes sshd. Nothing of this is seen outside the host's mount namespace.
# usage: sh host.sh NAME FOLDER DISK UID SSHD…
set -eu
name=$1 own=$2 disk=$3 uid=$4
shift 4
hostname "$name"
# A container may forbid both; then /proc has the processes of the whole lab, and /sys the interfaces of the machine.
mount -t proc proc /proc || :
mount -t sysfs sysfs /sys || :
mount --bind "$own/etc/boot_id" /proc/sys/kernel/random/boot_id
mount --bind "$own/etc/passwd" /etc/passwd
[ ! -e /etc/shadow ] || mount --bind "$own/etc/shadow" /etc/shadow
mount --bind "$own/etc" /etc/ssh
[ ! -e "$own/etc/uname" ] || mount --bind "$own/etc/uname" "$(command -v uname)"
mount --bind "$own/disk/home" /home
mount --bind "$own/disk/root" /root
mount --bind "$disk" /var/tmp
mount -t tmpfs -o mode=1777 tmpfs /tmp
# The last one: it hides the folder of the lab.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd /run/user/"$uid"
chmod 700 /run/user/"$uid"
chown "$uid" /run/user/"$uid" 2>/dev/null || : # in a user namespace with a single id, the folder is the user's already
exec "$@"
