# Steps of ./quickstart and tests/run: a title, a log in build/logs, the time spent. Sourced with the
# source tree as working folder. The caller sets `steps`, the number of steps, before the first title.
# shellcheck shell=bash disable=SC2034 # variables of the scripts that source this

logs=$PWD/build/logs
jobs=$(nproc)
step=0
steps=0
step_start=$SECONDS

title() {
  step=$((step + 1))
  printf '[%d/%d] %s\n' "$step" "$steps" "$*"
  step_start=$SECONDS
}

spent() { printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); }

finish() { printf '      %s, %s\n' "$*" "$(spent $((SECONDS - step_start)))"; }

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

open_logs() { mkdir -p "$logs" || die "cannot make $logs"; }

# Shows the counters that ninja, ctest and tests/structure/tidy print: on a terminal each one in place
# of the last, elsewhere one every twenty seconds.
show_progress() {
  local line shown=$SECONDS on_terminal=0
  [[ -t 1 ]] && on_terminal=1
  while IFS= read -r line; do
    [[ $line =~ ^\ *\[?[0-9]+/[0-9]+[]\ ] ]] || continue
    if ((on_terminal)); then
      printf '\r      %.90s\033[K' "$line"
    elif ((SECONDS - shown >= 20)); then
      printf '      %.90s\n' "$line"
      shown=$SECONDS
    fi
  done
  ((on_terminal)) && printf '\r\033[K'
  return 0
}

# logged NAME COMMAND...: runs the command with its output in build/logs/NAME.log, and prints the end
# of that file if the command fails.
logged() {
  local log=$logs/$1.log status=0
  shift
  "$@" 2>&1 | tee "$log" | show_progress || status=$?
  if ((status != 0)); then
    echo "      failed (status $status): $*"
    echo "      the end of build/logs/${log##*/}:"
    tail -n 40 "$log" | sed 's/^/      | /'
  fi
  return "$status"
}

# extra NAME: whether --with named this extra.
extra() { [[ " ${with[*]} " == *" $1 "* ]]; }

# parse_arguments VERBS EXTRAS ARGUMENT...: sets `verb` to the one of VERBS that was given, if any, and
# `with`. VERBS and EXTRAS are separated by blanks; the verb long:* stands for long:ANYTHING. Calls usage for
# --help.
parse_arguments() {
  local verbs=$1 extras=$2 names name
  shift 2
  with=()
  while (($# > 0)); do
    case $1 in
      --with=*) set -- --with "${1#*=}" "${@:2}" && continue ;;
      --with)
        IFS=, read -ra names <<<"${2-}"
        ((${#names[@]} > 0)) || names=('')
        for name in "${names[@]}"; do
          if [[ -z $name || " $extras " != *" $name "* ]]; then
            echo "${0##*/}: --with '$name': no such extra; there are: $extras" >&2
            exit 2
          fi
          with+=("$name")
        done
        shift
        ;;
      -h | --help)
        usage
        exit 0
        ;;
      *)
        if [[ -z $1 || " $verbs " != *" $1 "* ]] &&
          [[ $1 != long:* || " $verbs " != *" long:* "* ]]; then
          echo "${0##*/}: unknown argument '$1' (see $0 --help)" >&2
          exit 2
        fi
        verb=$1
        ;;
    esac
    shift
  done
}
