#include "packaging/manual/sections.hpp"

#include <array>
#include <string>

#include "packaging/manual/text.hpp"

namespace paraes::manual {
namespace {

constexpr std::string_view with_age = " encrypt decrypt verify rekey info ";
constexpr std::string_view with_kernels = " encrypt decrypt verify rekey devices bench tune ";
constexpr std::string_view with_gpus = with_kernels;
constexpr std::string_view with_profile = " encrypt decrypt verify tune ";

struct Relation {
  std::string_view verb;
  std::string_view others;
};
constexpr std::array<Relation, 10> relations = {{
    {"encrypt", "decrypt verify keygen rekey"},
    {"decrypt", "encrypt verify info"},
    {"verify", "encrypt decrypt info"},
    {"rekey", "encrypt verify keygen info"},
    {"info", "encrypt verify"},
    {"keygen", "encrypt rekey"},
    {"devices", "bench tune"},
    {"bench", "devices tune lab"},
    {"tune", "devices bench encrypt"},
    {"lab", "bench"},
}};

}  // namespace

bool Row::concerns(std::string_view verb) const {
  return verbs.find(" " + std::string(verb) + " ") != std::string_view::npos;
}

std::vector<std::string_view> overview() {
  return {
      "Files are encrypted with a key file, a passphrase, or the public keys of recipients. The "
      "default format is authenticated: decryption gives back the file or an error. `FILE` becomes "
      "`FILE.paes`, and the other way round; without FILE, paraes reads standard input and writes "
      "standard output.",
      "The work is done by all cores, or by GPUs that --device names, and on clusters by "
      "`paraes-mpi`.",
  };
}

const std::vector<Row>& environment() {
  static const std::vector<Row> rows = {
      {"PARAES_AGE",
       "The program that works with recipients and identities, such as `rage` (default: `age`).",
       with_age},
      {"PARAES_CPU_MASK",
       "CPU features to hide, with commas between them, by their names in `paraes devices`: for "
       "tests. An unknown name is an error.",
       with_kernels},
      {"PARAES_KERNEL", "The kernel where --kernel is not given.",
       " encrypt decrypt verify rekey bench "},
      {"PARAES_NVRTC",
       "The path of the library NVRTC, which compiles programs for NVIDIA's GPUs. Without it, "
       "NVRTC is also looked for in the Python environments of VIRTUAL_ENV, CONDA_PREFIX and "
       "~/.local.",
       with_gpus},
      {"PARAES_PROFILE",
       "The file with the measurements of `paraes tune`, or `none` for no file (default: "
       "$XDG_STATE_HOME/paraes/profile.json).",
       with_profile},
      {"PARAES_PROGRAM_PATH",
       "Folders, with colons between them, that hold programs for GPUs from `paraes devices "
       "--compile`.",
       with_gpus},
      {"PARAES_PROGRAM, PARAES_MPI_PROGRAM",
       "The programs `paraes` and `paraes-mpi` that the laboratory runs.", " lab "},
      {"TMPDIR",
       "The folder for files of the file scope where --dir is not given (default: /dev/shm, else "
       "/tmp).",
       " bench "},
      {"XDG_CACHE_HOME",
       "Its folder `paraes` keeps compiled programs for GPUs (default: ~/.cache).", with_gpus},
      {"XDG_STATE_HOME", "Its folder `paraes` has the profile (default: ~/.local/state).",
       with_profile},
  };
  return rows;
}

const std::vector<Row>& files() {
  static const std::vector<Row> rows = {
      {"FILE.paes", "The output of encryption where -o is not given, in every format.",
       " encrypt decrypt "},
      {".NAME.HOST.PROCESS.RANDOM.paraes-tmp",
       "An output that is not whole yet, on file systems without unnamed files. A run that was "
       "killed leaves it; the next run with the same output removes it.",
       " encrypt decrypt rekey "},
      {"~/.local/state/paraes/profile.json", "The profile of `paraes tune`.", with_profile},
      {"~/.cache/paraes/", "Compiled programs for GPUs. They may be removed at any time.",
       with_gpus},
  };
  return rows;
}

std::vector<std::string_view> related(std::string_view verb) {
  for (const Relation& relation : relations) {
    if (relation.verb == verb) return split(relation.others, " ");
  }
  return {};
}

}  // namespace paraes::manual
