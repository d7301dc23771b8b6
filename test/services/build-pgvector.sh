#!/usr/bin/env bash
# build-pgvector.sh <postgres> <work>: compiles pgvector and puts it into a copy of the npm package's PostgreSQL 17.
# The package has no headers, and Debian 12 no pgvector for 17: both come from Debian 13, fetched with an apt
# configuration of its own. Nothing is installed on the machine.
set -euo pipefail
postgres=$1
mkdir -p "$2"/{sources,lists/partial,archives/partial,fetched,headers,objects}
cd "$2"

# The machine's own first source, pointed at Debian 13 and at sources too.
awk 'BEGIN { RS = "" } NR == 1' /etc/apt/sources.list.d/debian.sources |
  sed -e 's/^Types:.*/Types: deb deb-src/' -e 's/^Suites:.*/Suites: trixie/' >sources/debian.sources
fetch() {
  apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$PWD/sources" \
    -o Dir::State::lists="$PWD/lists" -o Dir::Cache::archives="$PWD/archives" -o Dir::Cache::pkgcache= \
    -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}
fetch update
fetch source --only-source --download-only pgvector
fetch download postgresql-server-dev-17

tar -xzf pgvector_*.orig.tar.gz -C fetched
dpkg -x postgresql-server-dev-17_*.deb headers
source=$(echo fetched/*/)
for file in "$source"src/*.c; do
  printf '%s\0%s\0' "$file" "objects/$(basename "$file" .c).o"
done | xargs -0 -n 2 -P "$(nproc)" sh -c '
  gcc -O2 -fPIC -ftree-vectorize -fassociative-math -fno-signed-zeros -fno-trapping-math \
    -Iheaders/usr/include/postgresql/17/server -c "$1" -o "$2"' compile
gcc -shared -o "$postgres/lib/postgresql/vector.so" objects/*.o

version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" "${source}vector.control")
cp "${source}vector.control" "$postgres/share/postgresql/extension/"
cp "${source}sql/vector.sql" "$postgres/share/postgresql/extension/vector--$version.sql"
