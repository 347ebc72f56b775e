# shellcheck shell=bash disable=SC1007,SC2034,SC2046,SC2086 # lists are split at spaces

# Sets the words up to the cursor, joining what Bash has split at = and :. `current` is the last of
# them, and `kept` is the part of it that Bash does not replace.
_paraes_read_line() { # WORD: as Bash gives it to the function, up to the cursor
  local line=${COMP_LINE:0:COMP_POINT} rest i
  words=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    rest=${line#"${line%%[![:space:]]*}"}
    local word=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || word=$rest
    if [[ $rest == "$line" ]] && ((${#words[@]} > 0)); then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    line=${rest#"$word"}
  done
  current=${words[${#words[@]} - 1]}
  kept=${current%"$1"}
}

# Offers the words that begin with $2, each after $1, which is on the line already.
_paraes_offer() { # PREFIX BEGINNING WORD...
  local prefix=$1 beginning=$2 word
  shift 2
  for word in "$@"; do
    [[ $word == "$beginning"* ]] || continue
    word=$prefix$word
    COMPREPLY+=("${word#"$kept"}")
  done
}

# Offers files whose names end in $3, and folders; all files, if there are none of these.
_paraes_offer_files() { # PREFIX BEGINNING [ENDING]
  local prefix=$1 beginning=$2 ending=${3-} name
  # The quote that the name begins with is no part of it.
  if [[ $beginning == [\"\']* ]]; then
    prefix+=${beginning:0:1}
    beginning=${beginning:1}
  fi
  compopt -o filenames 2>/dev/null
  while IFS= read -r name; do
    [[ -n $name ]] || continue
    name=$prefix$name
    COMPREPLY+=("${name#"$kept"}")
  done < <(
    if [[ $ending == / ]]; then
      compgen -d -- "$beginning"
    elif [[ -n $ending ]]; then
      { compgen -f -X "!*$ending" -- "$beginning"; compgen -d -- "$beginning"; } | sort -u
    else
      compgen -f -- "$beginning"
    fi
  )
  if [[ $ending == .* ]] && ((${#COMPREPLY[@]} == 0)); then _paraes_offer_files "$1" "$2"; fi
}

# Offers what a flag or an argument takes.
_paraes_offer_values() { # PREFIX BEGINNING
  case $kind in
    words) _paraes_offer "$1" "$2" $choices ;;
    list)
      compopt -o nospace 2>/dev/null
      local before=
      [[ $2 != *,* ]] || before=${2%,*},
      _paraes_offer "$1$before" "${2##*,}" $choices
      ;;
    files) _paraes_offer_files "$1" "$2" ;;
    sealed)
      # Other formats have other names.
      if [[ -n $format && $format != paraes ]]; then
        _paraes_offer_files "$1" "$2"
      else
        _paraes_offer_files "$1" "$2" .paes
      fi
      ;;
    folders) _paraes_offer_files "$1" "$2" / ;;
    program) _paraes_offer "$1" "$2" $(compgen -c -- "$2") ;;
    variable) _paraes_offer "$1" "$2" $(compgen -e -- "$2") ;;
  esac
}

# Reads the words before the last: sets the verb, the number of arguments after it, whether only
# arguments can follow, the format, and the flag whose value the last word is, or nothing.
_paraes_parse() { # PROGRAM
  local i word letter flag
  verb= count=0 only_arguments= format= waiting=
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    word=${words[i]}
    if [[ $word =~ $redirection ]]; then
      ((++i)) # the name of a file
    elif [[ -n $waiting ]]; then
      [[ $waiting != --format ]] || format=$word
      waiting=
    elif [[ -n $only_arguments ]]; then
      count=$((count + 1))
    elif [[ $word == -- ]]; then
      only_arguments=1
    elif [[ $word == --format=* ]]; then
      format=${word#*=}
    elif [[ $word == --*=* ]]; then
      :
    elif [[ $word == --* ]]; then
      "_$1_value" "$verb" "$word"
      [[ -z $kind ]] || waiting=$word
    elif [[ $word == -?* ]]; then
      # -rk is -r -k, and -T4 is -T 4.
      for ((letter = 1; letter < ${#word}; letter++)); do
        flag=-${word:letter:1}
        "_$1_value" "$verb" "$flag"
        [[ -n $kind ]] || continue
        ((letter + 1 < ${#word})) || waiting=$flag
        break
      done
    elif [[ -z $verb ]]; then
      verb=$word
    else
      count=$((count + 1))
    fi
  done
}

_paraes_complete() { # PROGRAM, with _ in place of -
  local IFS=$' \t\n' verb count only_arguments format waiting kind= choices= flags=
  local redirection='^[0-9]*(<|>|>>|>\|)$'
  _paraes_parse "$1"
  if [[ ${words[${#words[@]} - 2]} =~ $redirection ]]; then
    _paraes_offer_files "" "$current"
  elif [[ -n $waiting ]]; then
    "_$1_value" "$verb" "$waiting"
    _paraes_offer_values "" "$current"
  elif [[ -n $only_arguments ]]; then
    "_$1_argument" "$verb" "$count"
    _paraes_offer_values "" "$current"
  elif [[ $current == --*=* ]]; then
    "_$1_value" "$verb" "${current%%=*}"
    _paraes_offer_values "${current%%=*}=" "${current#*=}"
  elif [[ $current == -* ]]; then
    "_$1_flags" "$verb"
    _paraes_offer "" "$current" $flags
  elif [[ -z $verb ]]; then
    _paraes_offer "" "$current" $("_$1_verbs")
  else
    "_$1_argument" "$verb" "$count"
    _paraes_offer_values "" "$current"
  fi
}

