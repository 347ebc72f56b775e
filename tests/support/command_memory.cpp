// A library to preload into paraes-mpi. It appends a line to the file PARAES_COMMAND_MEMORY for
// each command that a rank sends or receives: "sent" or "received", the rank, the size of the
// message, and the flags of the memory where its bytes are, as in /proc/self/smaps. MPI lets
// libraries replace its functions, and call the originals as PMPI_*.

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "mappings.hpp"

namespace {

constexpr int command_tag = 1;  // Tag::command of mpi/ranks.hpp

void record(const char* what, const void* data, int size) {
  const char* path = std::getenv("PARAES_COMMAND_MEMORY");
  if (path == nullptr) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto flags = paraes::support::mapping_flags(data);
  const std::string line = std::string(what) + " " + std::to_string(rank) + " " +
                           std::to_string(size) + (flags.empty() ? " unknown" : flags[0]) + "\n";
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || write(file, line.data(), line.size()) < 0) std::abort();
  close(file);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int MPI_Isend(const void* data, int count,
                                                                MPI_Datatype type, int to, int tag,
                                                                MPI_Comm ranks,
                                                                MPI_Request* request) {
  if (tag == command_tag) record("sent", data, count);
  return PMPI_Isend(data, count, type, to, tag, ranks, request);
}

extern "C" __attribute__((visibility("default"))) int MPI_Mrecv(void* data, int count,
                                                                MPI_Datatype type,
                                                                MPI_Message* message,
                                                                MPI_Status* status) {
  MPI_Status own;
  const int result = PMPI_Mrecv(data, count, type, message, &own);
  if (status != MPI_STATUS_IGNORE) *status = own;
  if (own.MPI_TAG == command_tag) record("received", data, count);
  return result;
}
