// A stand-in for CUDA's header, with which docs/examples/own_device_rival.cu is C++ whose kernels
// run on the CPU, in the thread that launches them. Device memory is memory of the host, as it is
// with tests/gpu/fake_cuda.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#define __device__
#define __global__

using cudaStream_t = struct CudaStream*;
using cudaError_t = int;

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

struct dim3 {
  explicit dim3(std::size_t n) : x(static_cast<unsigned>(n)) {}
  unsigned x;
};

inline struct { unsigned x = 0; } blockIdx, threadIdx, blockDim;

template <class... A, std::size_t... I>
void call_kernel(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<A*>(arguments[I])...);
}

template <class... A>
cudaError_t cudaLaunchKernel(void (*kernel)(A...), dim3 groups, dim3 threads, void** arguments,
                             std::size_t, cudaStream_t stream) {
  if (stream == nullptr) return 1;  // the bench has a stream of its own
  blockDim.x = threads.x;
  for (blockIdx.x = 0; blockIdx.x < groups.x; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < threads.x; ++threadIdx.x) {
      call_kernel(kernel, arguments, std::index_sequence_for<A...>());
    }
  }
  return 0;
}
