"""Completions for Bash, zsh and fish. `nested`: an executable whose verbs and flags follow a verb
of its caller, `paraes lab`; None where there is none."""

from texts import (
    backslashed,
    flags_of,
    short_text,
    takes_several,
    values_of_argument,
    values_of_flag,
)

NESTED_VERB = "lab"


def is_nested(verb, nested):
    return nested is not None and verb["name"] == NESTED_VERB


# ---- Bash: engine.bash has the functions that read the line and offer words.

BASH_KINDS = {"sealed_files": "sealed", "command": "program"}


def identifier(name):
    return name.replace("-", "_")


def bash_assignment(kind, words):
    """Sets the variables that _paraes_offer_values reads."""
    return f"kind={BASH_KINDS.get(kind, kind)}" + (f" choices='{' '.join(words)}'" if words else "")


def bash_names(owner):
    return " ".join(name for flag in flags_of(owner) for name in flag["names"])


def bash_data(executable, words_of):
    """The functions whose names begin with that of the program."""
    name = "_" + identifier(executable["name"])
    verbs = executable["verbs"]
    flags, values, arguments = "", "", ""
    for verb in verbs:
        if verb["groups"]:
            flags += f"    {verb['name']}) flags='{bash_names(verb)}' ;;\n"
        for flag in flags_of(verb):
            # A flag that needs no value has one only behind an equals sign.
            kind, words = values_of_flag(flag, words_of)
            patterns = " | ".join(f"{verb['name']}:{one}" for one in flag["names"])
            if kind != "none":
                values += f"    {patterns}) {bash_assignment(kind, words)} ;;\n"
        for number, argument in enumerate(verb["arguments"]):
            kind, words = values_of_argument(executable, verb, argument)
            place = "*" if takes_several(argument) else number
            if kind != "text":
                arguments += f"    {verb['name']}:{place}) {bash_assignment(kind, words)} ;;\n"
    return f"""\
{name}_verbs() {{ echo '{" ".join(verb["name"] for verb in verbs)}'; }}

{name}_flags() {{ # VERB
  case $1 in
    '') flags='{bash_names(executable)}' ;;
{flags}    *) flags= ;;
  esac
}}

{name}_value() {{ # VERB FLAG
  kind= choices=
  case $1:$2 in
{values}  esac
}}

{name}_argument() {{ # VERB NUMBER-OF-ARGUMENTS-BEFORE
  kind= choices=
  case $1:$2 in
{arguments}  esac
}}

"""


def bash(executable, nested, words_of, engine):
    program = identifier(executable["name"])
    data, branch = bash_data(executable, words_of), ""
    if nested is not None:
        data += bash_data(nested, words_of)
        branch = f"""\
  if ((${{#words[@]}} > 2)) && [[ ${{words[1]}} == {NESTED_VERB} ]]; then
    words=("${{words[@]:1}}")
    _paraes_complete {identifier(nested["name"])}
    return
  fi
"""
    return f"""\
# Completes the command line of {executable["name"]} in Bash. Generated from the description that \
--help prints.

{engine}{data}_{program}() {{
  local words current kept
  COMPREPLY=()
  _paraes_read_line "$2"
{branch}  _paraes_complete {program}
}}

complete -F _{program} {executable["name"]}
"""


# ---- zsh


def zsh_quoted(text):
    return "'" + text.replace("'", r"'\''") + "'"


def zsh_action(kind, words, title):
    words = " ".join(words)
    return {
        "none": "",
        "text": " ",
        "words": f"({words})",
        # The space: _values gets these arguments alone.
        "list": f" _values -s , {title} {words}",
        "files": "_files",
        "sealed_files": "_paraes_sealed_files",
        "folders": "_files -/",
        "command": "_cmdstring",
        "variable": '_parameters -g "*export*"',
    }[kind]


def zsh_flag(flag, words_of):
    """'(-k --key-file)'{-k+,--key-file=}'[Key.]:key-file:_files'"""
    names = flag["names"]
    # The name of the value in messages: a word without colons.
    title = names[-1].lstrip("-")
    # Brackets and backslashes have a meaning in a specification of _arguments.
    text = f"[{backslashed(short_text(flag['text']), '[]' + chr(92))}]"
    short, long = "", ""
    if flag["type"]:
        optional = flag["value_is_optional"]
        short, long = ("=-", "=-") if optional else ("+", "=")
        action = zsh_action(*values_of_flag(flag, words_of), title)
        text += f"{'::' if optional else ':'}{title}:{action}"
    forms = ",".join(name + (long if len(name) > 2 else short) for name in names)
    exclusion = "*" if flag["repeats"] else f"({' '.join(names)})"
    return f"'{exclusion}'" + (f"{{{forms}}}" if len(names) > 1 else forms) + zsh_quoted(text)


def zsh_argument(executable, verb, argument):
    action = zsh_action(*values_of_argument(executable, verb, argument), argument["name"])
    begin = "*:" if takes_several(argument) else ":"
    return zsh_quoted(f"{begin}{backslashed(argument['name'], ':=')}:{action}")


def zsh_lines(specifications, indent):
    return "".join(f" \\\n{indent}{one}" for one in specifications)


def zsh(executable, nested, words_of):
    name = executable["name"]
    summaries, cases = "", ""
    for verb in executable["verbs"]:
        summary = f"{verb['name']}:{short_text(verb['summary'])}"
        summaries += f"        {zsh_quoted(summary)}\n"
        if is_nested(verb, nested):
            cases += f"        ({verb['name']}) _{nested['name']} && ret=0 ;;\n"
            continue
        all_of = [zsh_flag(flag, words_of) for flag in flags_of(verb)]
        all_of += [zsh_argument(executable, verb, one) for one in verb["arguments"]]
        cases += f"        ({verb['name']})\n          _arguments -s -S"
        cases += zsh_lines(all_of, " " * 12) + " && ret=0\n          ;;\n"
    flags = zsh_lines([zsh_flag(flag, words_of) for flag in flags_of(executable)], "    ")
    return f"""\
#compdef {name}
# Completes the command line of {name} in zsh. Generated from the description that --help prints.

_paraes_sealed_files() {{
  if (( ${{words[(I)--format(=*|)]}} )); then
    _files "$@"
  else
    _files "$@" -g "*.paes"
  fi
}}

_{name}() {{
  local context state state_descr line curcontext="$curcontext" ret=1
  local -a verbs
  typeset -A opt_args

  _arguments -C -S{flags} \\
    '1: :->verb' \\
    '*:: :->arguments' && ret=0

  case $state in
    (verb)
      verbs=(
{summaries}      )
      _describe -t verbs verb verbs && ret=0
      ;;
    (arguments)
      curcontext="${{curcontext%:*:*}}:{name}-$words[1]:"
      case $words[1] in
{cases}      esac
      ;;
  esac
  return ret
}}

_{name} "$@"
"""


# ---- fish


def fish_quoted(text):
    return f"'{backslashed(text, chr(39) + chr(92))}'"


def fish_value(kind, words):
    """The options of `complete` for a value: -x takes no files, and -r needs a value."""
    words = " ".join(words)
    return {
        "none": "",
        "text": " -x",
        "words": f" -x -a {fish_quoted(words)}",
        "list": f" -x -a {fish_quoted(f'(__fish_append , {words})')}",
        "files": " -r -F",
        "sealed_files": " -k -x -a '(__fish_complete_suffix .paes)'",
        "folders": " -x -a '(__fish_complete_directories)'",
        "command": " -x -a '(__fish_complete_command)'",
        "variable": " -x -a '(set -nx)'",
    }[kind]


def fish_owner(owner, start, words_of):
    """The flags of an executable without a verb, or of a verb."""
    text = ""
    for flag in flags_of(owner):
        text += start
        for name in flag["names"]:
            text += f" -s {name[1:]}" if len(name) == 2 else f" -l {name[2:]}"
        # A value that may be left out is not asked for.
        if not flag["value_is_optional"]:
            text += fish_value(*values_of_flag(flag, words_of))
        text += f" -d {fish_quoted(short_text(flag['text']))}\n"
    return text


def fish_all(program, executable, skipped, nested, words_of):
    """`skipped`: how many words come before the verb."""
    at = f"__{identifier(program)}_verb_is {skipped}"

    def start(condition):
        return f"complete -c {program} -n {fish_quoted(condition)}"

    text = fish_owner(executable, start(at), words_of)
    for verb in executable["verbs"]:
        text += f"{start(at)} -a {verb['name']} -d {fish_quoted(short_text(verb['summary']))}\n"
    for verb in executable["verbs"]:
        if is_nested(verb, nested):
            continue
        begin = start(f"{at} {verb['name']}")
        text += "\n" + fish_owner(verb, begin, words_of)
        for argument in verb["arguments"]:
            options = fish_value(*values_of_argument(executable, verb, argument))
            if options != " -x":  # an argument needs no value behind it
                text += begin + options.replace(" -r", "", 1) + "\n"
    return text


def fish(executable, nested, words_of):
    name = executable["name"]
    skips, rest = "", ""
    if nested is not None:
        # The verb itself is a word that the nested program does not see.
        skips = f"""\
    if test "$words[2]" = {NESTED_VERB}
        test $skipped = 2; or return 1
    else
        test $skipped = 1; or return 1
    end
"""
        rest = f"\n# paraes {NESTED_VERB}\n{fish_all(name, nested, 2, None, words_of)}"
    return f"""\
# Completes the command line of {name} in fish. Generated from the description that --help prints.

# Whether the words before the cursor have this verb, or none if VERB is not given.
# SKIPPED: how many words come before the verb.
function __{identifier(name)}_verb_is # SKIPPED [VERB]
    set -l skipped $argv[1]
    set -l words (commandline -opc)
{skips}    set -l rest $words[(math $skipped + 1)..-1]
    if set -q argv[2]
        test "$rest[1]" = $argv[2]
    else
        not set -q rest[1]
    end
end

complete -c {name} -f

{fish_all(name, executable, 1, nested, words_of)}{rest}"""
