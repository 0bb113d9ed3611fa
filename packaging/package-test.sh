#!/bin/sh
# Installs candor and candor-lab from the signed repository OLD into the Debian in ROOT, upgrades to NEW, and purges both.
# cargo xtask package-test starts it: packaging/package-test.sh ROOT OLD NEW
set -eu
root=$1
old=$2
new=$3

in_root() { chroot "$root" env DEBIAN_FRONTEND=noninteractive "$@"; }
say() { echo "package-test: $*"; }
fail() { echo "package-test: $*" >&2; exit 1; }
# The repository is at the same place each time, as a user's is.
publish() { rm -rf "$root/srv/candor"; cp -r "$1" "$root/srv/candor"; in_root apt-get update -q; }
installed() { in_root dpkg-query --show --showformat '${Version}' "$1"; }

cp "$new/candor.gpg" "$root/usr/share/keyrings/candor.gpg"
echo "deb [signed-by=/usr/share/keyrings/candor.gpg] file:/srv/candor ./" >"$root/etc/apt/sources.list.d/candor.list"

say "apt refuses a list that was changed after it was signed"
cp -r "$new" "$root/srv/candor"
echo >>"$root/srv/candor/Packages"
rm "$root/srv/candor/Packages.gz"
! in_root apt-get update -q -o APT::Update::Error-Mode=any || fail "apt took a changed list"

say "install"
publish "$old"
in_root apt-get install -q --yes --no-install-recommends candor candor-lab
in_root candor check /etc/candor/example.toml
in_root candor-lab --version
in_root getent passwd candor
in_root systemd-analyze verify --man=no candor@example.service
test -s "$root/usr/lib/modules-load.d/candor.conf" || fail "there is no modules-load.d/candor.conf"
before=$(installed candor)
echo "# changed" >>"$root/etc/candor/example.toml"
echo 'comment = "mine"' >"$root/etc/candor/mine.toml"

say "upgrade"
publish "$new"
in_root apt-get upgrade -q --yes
after=$(installed candor)
in_root dpkg --compare-versions "$before" lt "$after" || fail "$before was not upgraded: $after"
[ "$(installed candor-lab)" = "$after" ] || fail "candor-lab was not upgraded"
tail -n 1 "$root/etc/candor/example.toml" | grep -q changed || fail "the upgrade replaced a changed example.toml"

say "purge"
in_root apt-get purge -q --yes candor candor-lab
[ -e "$root/etc/candor/mine.toml" ] || fail "purge removed a file of the user"
rm -r "$root/etc/candor" "$root/srv/candor" "$root/usr/share/keyrings/candor.gpg" "$root/etc/apt/sources.list.d/candor.list"
left=$(find "$root" -xdev -name '*candor*' ! -path "$root/proc/*" ! -path "$root/var/lib/apt/*" ! -path "$root/var/cache/apt/*")
[ -z "$left" ] || fail "purge left: $left"
say "passed: $before, $after, purged"
