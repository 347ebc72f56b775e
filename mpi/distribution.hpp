// How paraes-mpi spreads the bytes of a file over the ranks.
#pragma once

namespace paraes::mpi {

enum class Distribution {
  shared,   // every rank reads and writes its share of a file
  scatter,  // rank 0 reads and writes, and sends chunks to the others
};

}  // namespace paraes::mpi
