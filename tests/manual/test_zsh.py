"""Completion in zsh, in a pseudo-terminal of zsh's own (zpty)."""

import support
from support import BIN, BUILT, help_of, names_of, run, verbs_of

# Starts an interactive zsh, and replaces compadd by a function that prints each word that it would
# offer. Prints the words that complete the line $2.
OFFER = r"""
zmodload zsh/zpty || exit 9
zpty shell zsh -f -i
zpty -w shell "PS1= RPS1= ; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell 'bindkey "^I" complete-word; unset zle_bracketed_paste'
zpty -w shell 'compadd () {
  local -a names
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    builtin compadd -A names "$@"
    print -lr -- "" "<"${^names}">"
  fi
  builtin compadd "$@"
}'
zpty -w shell 'finish () { print DO""NE; exit }; zle -N finish; bindkey "^T" finish'
zpty -w shell 'print STAR""TED'
zpty -r shell started "*STARTED*" || exit 8
zpty -w -n shell "$2"$'\t\x14'
zpty -r shell answer "*DONE*" || exit 7
print -r -- "$answer"
"""


def setUpModule():
    support.need("zsh")


class Zsh(support.ShellCase):
    def offers(self, line):
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.dir), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        done = run("zsh", "-f", "-c", OFFER, "zsh", BUILT / "zsh", line, cwd=self.dir, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        lines = done.stdout.replace("\r", "").replace("\\ ", " ").split("\n")
        words = {line[1:-1] for line in lines if line.startswith("<") and line.endswith(">")}
        return sorted(words - {""})

    def test_syntax(self):
        for file in (BUILT / "zsh").iterdir():
            run("zsh", "-f", "-n", file, check=True)

    def test_verbs_and_flags(self):
        self.assertEqual(self.offers("paraes "), sorted(verbs_of(help_of(BIN))))
        for verb in ("encrypt", "rekey", "bench"):
            offered = set(self.offers(f"paraes {verb} -"))
            self.assertEqual({name.rstrip("=") for name in offered}, names_of(help_of(BIN, verb)))

    def test_values(self):
        self.check({
            "paraes encrypt --format ": ["c2sp", "openssl", "paraes", "raw", "tink"],
            "paraes bench --mode ctr,": ["cbc", "ecb", "gcm", "xts"],
        })
        self.assertIn("cluster", self.offers("paraes lab figure "))

    def test_files(self):
        self.make("a.paes", "my file.paes", "my.key")
        self.check({
            "paraes decrypt ": ["a.paes", "my file.paes"],
            "paraes decrypt -k m": ["my file.paes", "my.key"],
            "paraes decrypt my.k": ["my.key"],
            "paraes decrypt --format tink m": ["my file.paes", "my.key"],
        })
