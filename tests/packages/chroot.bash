# Bare systems of releases of Debian and Ubuntu, in chroots below build/chroots. Sourced with the source
# tree as working folder; needs root and debootstrap. Calls usage() of the script that sources it.
# shellcheck shell=bash disable=SC2034 # variables of the scripts that source this

chroots=$PWD/build/chroots
releases="bookworm trixie jammy noble"

# The host's bundle of certificates, under a name that the package ca-certificates does not write.
certificates=/etc/ssl/certs/ca-certificates.crt
certificates_inside=/usr/local/share/certificates-of-the-host.crt

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# begin ARGUMENT...: shows the usage, or checks the releases that are named and what chroots need.
begin() {
  local argument
  (($# > 0)) || {
    usage >&2
    exit 2
  }
  for argument in "$@"; do
    case $argument in
      -h | --help)
        usage
        exit 0
        ;;
      *) require_release "$argument" ;;
    esac
  done
  require_chroots
  mkdir -p "$chroots"
}

require_chroots() {
  local tool
  ((EUID == 0)) || die "a chroot needs root"
  for tool in debootstrap unshare; do
    PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || die "$tool was not found: install it"
  done
  export PATH=$PATH:/usr/sbin
}

require_release() {
  [[ " $releases " == *" $1 "* ]] || die "no such release: '$1'; there are: $releases"
}

# Debian has no package with the keys of Ubuntu's archive. The connection to the mirror vouches for them.
ubuntu_keyring() {
  local folder=$chroots/ubuntu-keyring pool=https://archive.ubuntu.com/ubuntu/pool/main/u/ubuntu-keyring
  local key=$folder/usr/share/keyrings/ubuntu-archive-keyring.gpg
  if [[ ! -e $key ]]; then
    mkdir -p "$folder"
    wget -q -O "$folder.deb" "$pool/ubuntu-keyring_2023.11.28.1_all.deb" ||
      curl -sSf -o "$folder.deb" "$pool/ubuntu-keyring_2023.11.28.1_all.deb"
    dpkg-deb -x "$folder.deb" "$folder"
  fi
  echo "$key"
}

# Only what `debootstrap --variant=minbase` installs, without a package of ours.
make_base() { # RELEASE
  local release=$1 base=$chroots/$1.base options=() script=''
  local mirror=http://deb.debian.org/debian
  [[ ! -e $base/.complete ]] || return 0
  rm -rf --one-file-system "$base"
  mkdir -p "$base"
  if [[ $release == jammy || $release == noble ]]; then
    mirror=http://archive.ubuntu.com/ubuntu
    options=("--components=main,universe" "--keyring=$(ubuntu_keyring)")
  fi
  # An older debootstrap has no script for a newer release, and that of all releases of Ubuntu is `gutsy`.
  [[ $mirror != *ubuntu* ]] || script=gutsy
  debootstrap --variant=minbase "${options[@]}" "$release" "$base" "$mirror" ${script:+"$script"} ||
    die "debootstrap could not install $release: see above"
  apt-config dump | grep -E '^Acquire::(Check|https?::)' >"$base/etc/apt/apt.conf.d/90host" || true
  cp -L /etc/resolv.conf "$base/etc/resolv.conf"
  # Without it, what looks up its own name waits seconds for the name server.
  echo "127.0.0.1 localhost $(uname -n)" >"$base/etc/hosts"
  if [[ -e $certificates ]]; then cp -L "$certificates" "$base$certificates_inside"; fi
  touch "$base/.complete"
}

# Prints the folder of a new copy of the bare system.
fresh_chroot() { # RELEASE NAME
  local root=$chroots/$1.$2
  rm -rf --one-file-system "$root"
  cp -a "$chroots/$1.base" "$root"
  rm "$root/.complete"
  echo "$root"
}

# How pip reaches its index from here.
host_variables() {
  env | grep -E '^(PIP_|SSL_CERT_FILE=|https?_proxy=|no_proxy=)' |
    sed "s|$certificates|$certificates_inside|" || true
}

# inside ROOT COMMAND...: runs a command in a chroot, in namespaces that end with it: so do its processes
# and what is mounted for it. With network=none it reaches no network.
network=
inside() {
  local root=$1 variables=() options=(--mount --pid --fork --kill-child)
  shift
  [[ $network != none ]] || options+=(--net)
  mapfile -t variables < <(host_variables)
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare "${options[@]}" bash -euc '
    root=$1
    shift
    mount --bind /dev "$root/dev"
    mount --bind /dev/pts "$root/dev/pts"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount --rbind /sys "$root/sys"
    mount -t proc proc "$root/proc"
    exec chroot "$root" "$@"' bash "$root" \
    /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "${variables[@]}" "$@"
}

install_inside() { # ROOT PACKAGE...
  local root=$1
  shift
  inside "$root" apt-get update -qq
  inside "$root" apt-get install -qq -y --no-install-recommends "$@"
}

# A clean clone of what is committed.
clone_into() { # FOLDER
  git clone --quiet --no-hardlinks "$PWD" "$1"
}
