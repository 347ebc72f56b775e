"""What the pages say beside the description of --help. Verbs: those that a row concerns; the page
of the executable has every row."""

WITH_AGE = "encrypt decrypt verify rekey info"
WITH_KERNELS = WITH_GPUS = "encrypt decrypt verify rekey devices bench tune"
WITH_PROFILE = "encrypt decrypt verify tune"

# The verbs whose pages SEE ALSO names.
RELATED = {
    "encrypt": "decrypt verify keygen rekey",
    "decrypt": "encrypt verify info",
    "verify": "encrypt decrypt info",
    "rekey": "encrypt verify keygen info",
    "info": "encrypt verify",
    "keygen": "encrypt rekey",
    "devices": "bench tune",
    "bench": "devices tune lab",
    "tune": "devices bench encrypt",
    "lab": "bench",
}
OVERVIEW = (
    "Files are encrypted with a key file, a passphrase, or the public keys of recipients. The "
    "default format is authenticated: decryption gives back the file or an error. `FILE` becomes "
    "`FILE.paes`, and the other way round; without FILE, paraes reads standard input and writes "
    "standard output.",
    "The work is done by all cores, or by GPUs that --device names, and on clusters by "
    "`paraes-mpi`.",
)
ENVIRONMENT = (
    ("PARAES_AGE",
     "The program that works with recipients and identities, such as `rage` (default: `age`).",
     WITH_AGE),
    ("PARAES_CPU_MASK",
     "CPU features to hide, with commas between them, by their names in `paraes devices`: for "
     "tests. An unknown name is an error.",
     WITH_KERNELS),
    ("PARAES_KERNEL", "The kernel where --kernel is not given.",
     "encrypt decrypt verify rekey bench"),
    ("PARAES_NVRTC",
     "The path of the library NVRTC, which compiles programs for NVIDIA's GPUs. Without it, "
     "NVRTC is also looked for in the Python environments of VIRTUAL_ENV, CONDA_PREFIX and "
     "~/.local.",
     WITH_GPUS),
    ("PARAES_PROFILE",
     "The file with the measurements of `paraes tune`, or `none` for no file (default: "
     "$XDG_STATE_HOME/paraes/profile.json).",
     WITH_PROFILE),
    ("PARAES_PROGRAM_PATH",
     "Folders, with colons between them, that hold programs for GPUs from `paraes devices "
     "--compile`.",
     WITH_GPUS),
    ("PARAES_PROGRAM, PARAES_MPI_PROGRAM",
     "The programs `paraes` and `paraes-mpi` that the laboratory runs.", "lab"),
    ("TMPDIR",
     "The folder for files of the file scope where --dir is not given (default: /dev/shm, else "
     "/tmp).",
     "bench"),
    ("XDG_CACHE_HOME",
     "Its folder `paraes` keeps compiled programs for GPUs (default: ~/.cache).", WITH_GPUS),
    ("XDG_STATE_HOME", "Its folder `paraes` has the profile (default: ~/.local/state).",
     WITH_PROFILE),
)
FILES = (
    ("FILE.paes", "The output of encryption where -o is not given, in every format.",
     "encrypt decrypt"),
    (".NAME.HOST.PROCESS.RANDOM.paraes-tmp",
     "An output that is not whole yet, on file systems without unnamed files. A run that was "
     "killed leaves it; the next run with the same output removes it.",
     "encrypt decrypt rekey"),
    ("~/.local/state/paraes/profile.json", "The profile of `paraes tune`.", WITH_PROFILE),
    ("~/.cache/paraes/", "Compiled programs for GPUs. They may be removed at any time.", WITH_GPUS),
)


def uses_age(verb):
    return verb in WITH_AGE.split()
