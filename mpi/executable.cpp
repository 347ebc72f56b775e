#include "mpi/executable.hpp"

#include <CLI/CLI.hpp>

#include "cli/verbs/verbs.hpp"

namespace paraes::mpi {
namespace {

constexpr const char* mpi_footer = R"(
Start it with mpirun or srun: the ranks share the work on each large file. Flags, formats and exit
statuses are those of paraes; `paraes help VERB` says more.

Examples:
  mpirun -n 4 paraes-mpi encrypt -k my.key big.tar
  mpirun -n 4 paraes-mpi decrypt -k my.key big.tar.paes
  srun -n 64 paraes-mpi encrypt -T 8 -k my.key -r /scratch/run7)";

constexpr const char* mpi_encrypt_examples = R"(
Examples:
  mpirun -n 4 paraes-mpi encrypt -k my.key big.tar
  mpirun -n 4 paraes-mpi encrypt -r -k my.key -o backup photos letters
  tar c dir | mpirun -n 4 paraes-mpi encrypt -k my.key > dir.tar.paes)";

constexpr const char* mpi_decrypt_examples = R"(
Examples:
  mpirun -n 4 paraes-mpi decrypt -k my.key big.tar.paes
  mpirun -n 4 paraes-mpi decrypt -r -k my.key -o restored backup
  mpirun -n 4 paraes-mpi decrypt -k my.key < dir.tar.paes | tar x)";

constexpr const char* mpi_verify_examples = R"(
Examples:
  mpirun -n 4 paraes-mpi verify -k my.key big.tar.paes
  mpirun -n 4 paraes-mpi verify -r -k my.key backup)";

constexpr const char* mpi_bench_examples = R"(
Examples:
  mpirun -n 4 paraes-mpi bench --mode ctr --size 1MiB,64MiB
  mpirun -n 4 paraes-mpi bench --mode ctr --distribute scatter
  mpirun -n 4 paraes-mpi bench --scope file --size 64MiB,1GiB)";

// encrypt, decrypt or verify, with a flag more.
cli::VerbEntry crypt_verb(cli::Verb verb, Flags& flags, const Actions& actions,
                          const char* examples) {
  const cli::CryptOverrides overrides = {
      .add_options =
          [&flags](CLI::App& app) {
            app.add_option("--distribute", flags.distribute,
                           "Each rank reads and writes its share of a file (default), or rank 0 "
                           "does, and sends chunks to the others.")
                ->type_name(cli::type_of(distribution_choices))
                ->group("Execution");
          },
      .run = actions.crypt,
      .examples = examples,
  };
  return {cli::verb_name(verb), [=](CLI::App& app, int& status, const cli::NamedFlags& named) {
            cli::add_crypt(app, status, named, verb, overrides);
          }};
}

cli::BenchOverrides bench_overrides(Flags& flags, const Actions& actions) {
  return {
      .add_options =
          [&flags](CLI::App& verb) {
            verb.add_option("--distribute", flags.distributions,
                            "Each rank has its share of the data, or rank 0 sends it and receives "
                            "the result (default: both).")
                ->type_name(cli::type_of(distribution_choices, ","))
                ->group(cli::bench_axes_group);
          },
      .run = actions.measure,
      .examples = mpi_bench_examples,
  };
}

}  // namespace

cli::ExecutableInfo mpi_executable(Flags& flags, const Actions& actions) {
  return {
      .name = "paraes-mpi",
      .summary = "Encrypts and decrypts with AES, on all ranks of an MPI job.",
      .footer = mpi_footer,
      .verbs =
          {
              crypt_verb(cli::Verb::encrypt, flags, actions, mpi_encrypt_examples),
              crypt_verb(cli::Verb::decrypt, flags, actions, mpi_decrypt_examples),
              crypt_verb(cli::Verb::verify, flags, actions, mpi_verify_examples),
              {"bench",
               [&flags, actions](CLI::App& app, int& status, const cli::NamedFlags&) {
                 cli::add_bench(app, status, bench_overrides(flags, actions));
               }},
          },
      .hides_memory = false,
  };
}

}  // namespace paraes::mpi
