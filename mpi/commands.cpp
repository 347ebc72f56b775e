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
  reply.kind = Kind::other;
  const auto is = [&reply](Kind kind, const std::exception& error) {
    reply.kind = kind;
    reply.text = cli::error_text(error);
  };
  try {
    try {
      throw;
    } catch (const Stopped&) {
      reply.kind = Kind::stopped;
    } catch (const IoError& error) {
      is(Kind::io, error);
      reply.code = error.code();
    } catch (const InvalidArgument& error) {
      is(Kind::invalid_argument, error);
    } catch (const Unavailable& error) {
      is(Kind::unavailable, error);
    } catch (const DeviceError& error) {
      is(Kind::device, error);
    } catch (const IntegrityError& error) {
      is(Kind::integrity, error);
    } catch (const std::bad_alloc&) {
      reply.text = "out of memory";
    } catch (const std::exception& error) {
      is(Kind::other, error);
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
