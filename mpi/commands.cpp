#include "mpi/commands.hpp"

#include <new>

#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "paraes/threads.hpp"

namespace paraes::mpi {

unsigned threads_of(const Execution& execution) {
  return static_cast<unsigned>(execution.threads == 0 ? available_cores() : execution.threads);
}

Reply reply_of_current_exception() noexcept {
  using Kind = Reply::Kind;
  Reply reply;
  try {
    try {
      throw;
    } catch (const Stopped&) {
      reply.kind = Kind::stopped;
    } catch (const IoError& error) {
      reply.kind = Kind::io;
      reply.code = error.code();
      reply.text = cli::error_text(error);
    } catch (const InvalidArgument& error) {
      reply.kind = Kind::invalid_argument;
      reply.text = cli::error_text(error);
    } catch (const Unavailable& error) {
      reply.kind = Kind::unavailable;
      reply.text = cli::error_text(error);
    } catch (const DeviceError& error) {
      reply.kind = Kind::device;
      reply.text = cli::error_text(error);
    } catch (const IntegrityError& error) {
      reply.kind = Kind::integrity;
      reply.text = cli::error_text(error);
    } catch (const std::bad_alloc&) {
      reply.kind = Kind::other;
      reply.text = "out of memory";
    } catch (const std::exception& error) {
      reply.kind = Kind::other;
      reply.text = cli::error_text(error);
    }
  } catch (...) {
    reply.kind = Kind::other;
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
  switch (reply.kind) {
    case Reply::Kind::invalid_argument:
      throw InvalidArgument(text);
    case Reply::Kind::unavailable:
      throw Unavailable(text);
    case Reply::Kind::device:
      throw DeviceError(text);
    case Reply::Kind::integrity:
      throw IntegrityError(text);
    case Reply::Kind::io:
      throw IoError(text, reply.code);
    default:
      throw Error(text);
  }
}

}  // namespace paraes::mpi
