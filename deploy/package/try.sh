#!/bin/sh
# Tries the Debian package as an administrator would: in a new root made by debootstrap, under systemd, with the distribution's
# PostgreSQL and RabbitMQ: installation, start, an order, upgrade, removal, purge.
#
#   deploy/package/try.sh PACKAGE.deb [FOLDER]
#
# Needs root, debootstrap, systemd-nspawn, and the mirror of the distribution. FOLDER gets the root (500 MB) and is removed at
# the end; with KEEP=1 it stays, and a further run begins with the root that is there.
set -eu

package=$(readlink -f "$1")
folder=${2:-$(mktemp -d)}
suite=${SUITE:-bookworm}
mirror=${MIRROR:-http://deb.debian.org/debian}
root=$folder/root
here=$(dirname "$(readlink -f "$0")")
roles="intake dispatcher activator worker notifier"

say() { echo "==> $*"; }
fail() { echo "try.sh: $*" >&2; exit 1; }

leader=
end() {
    [ -z "$leader" ] || kill "$leader" 2>/dev/null || true
    [ -z "$leader" ] || wait "$leader" 2>/dev/null || true
    [ "${KEEP:-}" = 1 ] || rm -rf "$folder"
}
trap end EXIT

# Runs a command in the booted root.
inside() { nsenter --all --root --wd --target "$init" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }
# Waits up to a minute for a command to succeed.
until_inside() {
    tries=0
    until inside sh -c "$1" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 120 ] || fail "not within a minute: $1"
        sleep 0.5
    done
}
order() { inside pagurus order get "$1" --json; }

if [ ! -e "$root/usr/sbin/rabbitmq-server" ]; then
    say "a new root of $suite"
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus "$suite" "$root" "$mirror" >"$folder/debootstrap.log"
    # Installed here, where the mirror is reached; nothing is started before the root boots.
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    chroot "$root" apt-get -q -y --no-install-recommends install postgresql rabbitmq-server libgcc-s1 ca-certificates >"$folder/apt.log" 2>&1
    rm "$root/usr/sbin/policy-rc.d"
fi
cp "$package" "$root/root/pagurus.deb"
say "the same package with a higher version"
dpkg-deb --raw-extract "$package" "$folder/next"
sed -i 's/^Version: .*/&+next/' "$folder/next/DEBIAN/control"
dpkg-deb -Zgzip --root-owner-group --build "$folder/next" "$root/root/next.deb" >/dev/null
rm -rf "$folder/next"

say "boot"
systemd-nspawn --quiet --register=no --keep-unit --private-network --directory="$root" --boot >"$folder/boot.log" 2>&1 &
leader=$!
init=
tries=0
while [ -z "$init" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || fail "it did not boot: $(tail -5 "$folder/boot.log")"
    sleep 0.5
    init=$(cat "/proc/$leader/task/$leader/children" 2>/dev/null | tr -d ' ') || true
done
until_inside 'systemctl is-system-running | grep -Eq "running|degraded"'
until_inside 'pg_isready'
until_inside 'rabbitmqctl await_startup'
# What a run before has left in a root that stays.
inside dpkg -P pagurus >/dev/null 2>&1 || true
inside su postgres -c "psql -q -c 'DROP DATABASE IF EXISTS pagurus' -c 'DROP ROLE IF EXISTS pagurus'" 2>/dev/null
inside rabbitmqctl -q delete_user pagurus >/dev/null 2>&1 || true
inside su postgres -c "psql -q -c \"CREATE ROLE pagurus LOGIN PASSWORD 'trial'\" -c 'CREATE DATABASE pagurus OWNER pagurus'"
inside rabbitmqctl -q delete_vhost / >/dev/null
inside rabbitmqctl -q add_vhost / >/dev/null
inside rabbitmqctl -q add_user pagurus trial >/dev/null
inside rabbitmqctl -q set_permissions pagurus '.*' '.*' '.*' >/dev/null

say "install"
inside dpkg -i /root/pagurus.deb >/dev/null
for role in $roles; do
    ! inside systemctl --quiet is-active "pagurus@$role" || fail "pagurus@$role runs before it was told where"
done
inside sh -c 'umask 077; cat >/etc/pagurus/pagurus.env' <<ENVIRONMENT
PAGURUS__DATABASE__URL=postgres://pagurus:trial@127.0.0.1/pagurus
PAGURUS__BROKER__URL=amqp://pagurus:trial@127.0.0.1
ENVIRONMENT
# Each service of a host listens at a port of its own.
port=8080
for role in $roles; do
    echo "PAGURUS__NODE__LISTEN=127.0.0.1:$port" | inside sh -c "cat >/etc/pagurus/$role.env"
    port=$((port + 1))
done

say "start"
for role in $roles; do inside systemctl enable --quiet --now "pagurus@$role"; done
inside systemctl --quiet is-enabled pagurus.target || fail "nothing would start after a reboot"
until_inside 'pagurus nodes list'
cat <<SCENARIO | inside sh -c 'cat >/root/nap.yaml'
scenario: nap
kind: workflow
initialState: work
states:
  work:
    entryPoint: true
    actions: [{sleep: {for: 25s}}]
    on: {sleep: rest}
  rest: {kind: sleeping, on: {timeout: wake}}
  wake:
    entryPoint: true
    actions: [{log: "after the upgrade"}]
    on: {success: done}
  done: {kind: terminal}
SCENARIO
until_inside 'pagurus scenario apply /root/nap.yaml'
inside pagurus order submit --scenario nap --id before >/dev/null
until_inside 'pagurus order get before --json | grep -q "\"sleep\""'

say "upgrade"
inside sh -c 'echo "# of this host" >>/etc/pagurus/pagurus.yaml'
before=$(inside systemctl show --property MainPID --value pagurus@worker)
inside dpkg -i /root/next.deb >/dev/null
after=$(inside systemctl show --property MainPID --value pagurus@worker)
[ "$before" != "$after" ] || fail "the worker goes on with the former program"
for role in $roles; do
    inside systemctl --quiet is-active "pagurus@$role" ||
        fail "pagurus@$role did not come back: $(inside journalctl --no-pager -n 8 -u "pagurus@$role")"
done
inside grep -q "of this host" /etc/pagurus/pagurus.yaml || fail "the upgrade overwrote the configuration"
until_inside 'pagurus order get before --json | grep -q "\"success\""'
until_inside 'pagurus order submit --scenario nap --id after'

say "remove"
inside dpkg -r pagurus >/dev/null
for role in $roles; do
    ! inside systemctl --quiet is-active "pagurus@$role" || fail "pagurus@$role outlives its program"
done
inside test -e /etc/pagurus/pagurus.env || fail "the removal took the configuration"
say "purge"
inside dpkg -P pagurus >/dev/null
left=$(inside find / -xdev -name '*pagurus*' -not -path '/proc/*' -not -path '/root/*' -not -path '/var/lib/postgresql/*' \
    -not -path '/var/lib/rabbitmq/*' -not -path '/var/log/*' -not -path '/run/*')
[ -z "$left" ] || fail "left behind: $left"
inside su postgres -c "psql -qtA -c \"SELECT status FROM orders WHERE id = 'before'\" pagurus" | grep -q success \
    || fail "the orders went with the package"
say "all is well"
