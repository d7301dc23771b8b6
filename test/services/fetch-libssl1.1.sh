#!/usr/bin/env bash
# fetch-libssl1.1.sh <target> <work>: unpacks Debian 11's libssl1.1, which programs that were built elsewhere still ask
# for, into a folder. It is fetched with an apt configuration of its own. Nothing is installed on the machine.
set -euo pipefail
target=$1
mkdir -p "$2"/{sources,lists/partial,archives/partial}
cd "$2"

# The machine's own first source, pointed at Debian 11.
awk 'BEGIN { RS = "" } NR == 1' /etc/apt/sources.list.d/debian.sources |
  sed -e 's/^Types:.*/Types: deb/' -e 's/^Suites:.*/Suites: bullseye/' >sources/debian.sources
fetch() {
  apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$PWD/sources" \
    -o Dir::State::lists="$PWD/lists" -o Dir::Cache::archives="$PWD/archives" -o Dir::Cache::pkgcache= \
    -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}
fetch update
fetch download libssl1.1
dpkg -x libssl1.1_*.deb "$target"
