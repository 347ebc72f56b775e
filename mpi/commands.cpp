#include "mpi/commands.hpp"

#include "cli/words/errors.hpp"
#include "paraes/threads.hpp"

namespace paraes::mpi {

unsigned threads_of(const Execution& execution) {
  return static_cast<unsigned>(execution.threads == 0 ? available_cores() : execution.threads);
}

Reply reply_of_current_exception() noexcept {
  Reply reply;
  reply.kind = Reply::Kind::failed;
  try {
    try {
      throw;
    } catch (const Stopped&) {
      reply.kind = Reply::Kind::stopped;
    } catch (const std::exception& error) {
      reply.error = error_kind(error);
      if (const auto* io = dynamic_cast<const IoError*>(&error)) reply.code = io->code();
      reply.text = cli::error_text(error);
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for the text
  }
  return reply;
}

std::string with_rank(const std::string& text, const std::string& rank,
                      const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const std::string name = file + ": ";
    if (!file.empty() && text.starts_with(name))
      return name + rank + ": " + text.substr(name.size());
  }
  return rank + ": " + text;
}

void throw_reply(const Reply& reply, const std::string& rank,
                 const std::vector<std::string>& files) {
  const std::string text = with_rank(reply.text, rank, files);
  // WrongKey cannot occur: rank 0 alone opens headers.
  if (is_a(reply.error, ErrorKind::invalid_argument)) throw InvalidArgument(text);
  if (is_a(reply.error, ErrorKind::unavailable)) throw Unavailable(text);
  if (is_a(reply.error, ErrorKind::device_error)) throw DeviceError(text);
  if (is_a(reply.error, ErrorKind::integrity_error)) throw IntegrityError(text);
  if (is_a(reply.error, ErrorKind::io_error)) throw IoError(text, reply.code);
  throw Error(text);
}

}  // namespace paraes::mpi
