#!/bin/sh
# Installs orange for one user: the program, completions and manual pages, below ~/.local.
#
#   install.sh [--version VERSION] [--prefix DIRECTORY] [--force]
#
# Needs curl or wget, tar, and sha256sum or shasum. Asks for nothing, edits no shell profile, and
# replaces nothing that it did not install itself unless it is told to with --force. Everything is
# downloaded and checked before the first file is installed; `orange uninstall` removes it all.
#
# ORANGE_DOWNLOAD names another place to download from, such as a mirror.
set -eu

# The release script writes the address of the releases here.
DOWNLOAD=${ORANGE_DOWNLOAD:-"@DOWNLOAD@"}

fail() {
    echo "error: $1" >&2
    [ $# -lt 2 ] || echo "hint: $2" >&2
    exit 1
}

usage() {
    sed -n '2,10s/^# \{0,1\}//p' "$0" 2>/dev/null || echo "install.sh [--version VERSION] [--prefix DIRECTORY] [--force]"
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# The name of the build for this machine.
target() {
    system=$(uname -s)
    machine=$(uname -m)
    case "$machine" in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no build of orange for $machine" "build it from its sources with cargo" ;;
    esac
    case "$system" in
    Linux) echo "$machine-unknown-linux-musl" ;;
    Darwin) echo "$machine-apple-darwin" ;;
    *) fail "there is no build of orange for $system" "on Windows, install it inside WSL" ;;
    esac
}

# download <address> <file>
download() {
    if has curl; then
        curl --fail --silent --show-error --location --retry 2 --connect-timeout 20 \
            --output "$2" "$1"
    elif has wget; then
        wget --quiet --tries=3 --timeout=20 --output-document="$2" "$1"
    else
        fail "cannot download orange: neither curl nor wget is installed"
    fi
}

# sum_of <file>
sum_of() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "cannot check the download: neither sha256sum nor shasum is installed"
    fi
}

# Whether this script has installed a file.
is_ours() {
    [ -f "$receipt" ] && grep -qxF "$1" "$receipt"
}

# Prints a directory below the prefix and those above it, outermost first, each with a slash.
with_parents() {
    rest=$1
    path=
    while [ -n "$rest" ]; do
        path=$path${rest%%/*}/
        echo "$path"
        case "$rest" in
        */*) rest=${rest#*/} ;;
        *) rest= ;;
        esac
    done
}

# Leaves nothing behind that is not installed.
clean_up() {
    rm -rf "${work:?}"
    if [ ! -f "$receipt" ]; then
        inner=
        for directory in $made; do inner="$directory $inner"; done
        for directory in $inner; do
            case "$directory" in
            ./) rmdir "$prefix" 2>/dev/null || true ;;
            *) rmdir "$prefix/$directory" 2>/dev/null || true ;;
            esac
        done
    fi
}

# A whole function, called in the last line: a script that was cut off on its way does nothing.
main() {
    version=latest
    prefix=${HOME:?}/.local
    force=no
    while [ $# -gt 0 ]; do
        case "$1" in
        --version | --prefix)
            [ $# -ge 2 ] || fail "\`$1\` needs a value"
            if [ "$1" = --version ]; then version=${2#v}; else prefix=$2; fi
            shift 2
            ;;
        --force)
            force=yes
            shift
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) fail "unknown option \`$1\`" "usage: install.sh [--version VERSION] [--prefix DIRECTORY] [--force]" ;;
        esac
    done
    case "$DOWNLOAD" in
    @*) fail "this copy of the script does not know where orange is released" \
        "set ORANGE_DOWNLOAD to the address of the releases" ;;
    esac
    case "$prefix" in
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
    esac

    target=$(target)
    name=orange-$target.tar.gz
    if [ "$version" = latest ]; then
        from=$DOWNLOAD/latest/download
    else
        from=$DOWNLOAD/download/v$version
    fi
    receipt=$prefix/share/orange/receipt
    program=$prefix/bin/orange
    if [ -e "$program" ] && [ "$force" = no ] && ! is_ours bin/orange; then
        fail "$program exists, and this script did not install it" \
            "remove it, choose another directory with --prefix, or replace it with --force"
    fi
    # Directories that are not there yet, so that an uninstall can remove them again.
    made=
    [ -d "$prefix" ] || made=./
    for directory in $(with_parents share/orange); do
        [ -d "$prefix/$directory" ] || made="$made $directory"
    done
    mkdir -p "$prefix/share/orange" 2>/dev/null && [ -w "$prefix" ] && [ -w "$prefix/share/orange" ] ||
        fail "cannot write to $prefix" "choose another directory with --prefix"
    # On the same file system as the program, so that moving it there replaces it at once.
    work=$prefix/share/orange/new
    trap clean_up EXIT
    trap 'exit 130' INT HUP TERM
    rm -rf "${work:?}"
    mkdir "$work" || fail "cannot write to $work"
    echo "downloading $name from $from"
    download "$from/$name" "$work/$name" ||
        fail "cannot download $from/$name" "check the connection and the version, then run this again"
    download "$from/SHA256SUMS" "$work/SHA256SUMS" ||
        fail "cannot download $from/SHA256SUMS" "check the connection, then run this again"
    expected=$(awk -v name="$name" '$2 == name { print $1 }' "$work/SHA256SUMS")
    [ -n "$expected" ] || fail "SHA256SUMS does not name $name"
    found=$(sum_of "$work/$name")
    [ "$found" = "$expected" ] || fail "the download is damaged: its sum is $found, not $expected" \
        "run this again; if it stays, report it and install nothing"
    mkdir "$work/tree"
    tar -xzf "$work/$name" -C "$work/tree" || fail "cannot unpack $name"
    tree=$work/tree/orange
    "$tree/bin/orange" --version >"$work/version" 2>"$work/problem" ||
        fail "the program does not run here: $(head -n 1 "$work/problem")" \
            "build orange from its sources with cargo"

    (cd "$tree" && find . -type f) | sed 's|^\./||' | sort >"$work/files"
    while read -r file; do
        if [ -e "$prefix/$file" ] && [ "$force" = no ] && ! is_ours "$file"; then
            fail "$prefix/$file exists, and this script did not install it" \
                "remove it, choose another directory with --prefix, or replace it with --force"
        fi
    done <"$work/files"
    # The receipt first, with what is to come and what was: an uninstall, or another run of this
    # script, finds everything, also after a power cut.
    {
        cat "$receipt" 2>/dev/null || true
        cat "$work/files"
        echo share/orange/receipt
        for directory in $made; do echo "$directory"; done
        while read -r file; do
            for directory in $(with_parents "$(dirname "$file")"); do
                [ -d "$prefix/$directory" ] || echo "$directory"
            done
        done <"$work/files"
    } | sort -u >"$work/receipt"
    cp "$work/receipt" "$work/all"
    mv "$work/receipt" "$receipt"
    while read -r file; do
        mkdir -p "$prefix/$(dirname "$file")"
        mv -f "$tree/$file" "$prefix/$file"
    done <"$work/files"
    # Files that only the version before had.
    while read -r file; do
        case "$file" in
        */ | /* | *..* | share/orange/receipt) ;;
        *) grep -qxF "$file" "$work/files" || rm -f "${prefix:?}/$file" ;;
        esac
    done <"$work/all"
    { cat "$work/files" && grep -e '/$' -e '^share/orange/receipt$' "$work/all"; } | sort -u >"$work/receipt"
    mv "$work/receipt" "$receipt"

    echo "installed $(cat "$work/version") as $program"
    case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) echo "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
    esac
    other=$(command -v orange || true)
    case "$other" in
    "" | "$program") ;;
    *) echo "note: \`orange\` is $other at the moment, another file, because it comes earlier in your PATH" ;;
    esac
    echo "try it: orange demo"
}

main "$@"
