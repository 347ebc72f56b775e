// The rival copy-threads: copies a file with several threads, as paraes encrypts one, but without
// computing. It is the roof of file scope.
#pragma once

#include <string>
#include <string_view>

namespace paraes::bench {

// If the first argument of paraes is this word, main calls copy_with_threads with the next three:
// the number of threads, the input and the output. It is no verb, and the help does not list it.
inline constexpr std::string_view copy_threads_word = "bench-copy-threads";

// Copies a regular file. Each thread takes the next chunk, of the size that paraes uses on the CPU,
// and reads and writes it through one buffer. The output is created, synced and named by a
// FileSink, with mode and time of the input, as paraes does it. Throws Error, also if the output
// exists.
void copy_with_threads(unsigned threads, const std::string& in, const std::string& out);

}  // namespace paraes::bench
