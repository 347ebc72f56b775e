#include "paraes/sha256.hpp"

#include "src/core/hmac.hpp"

namespace paraes {

class Sha256::State : public Hash<Sha256Functions> {};

Sha256::Sha256() : state_(std::make_unique<State>()) {}

Sha256::~Sha256() = default;

Sha256& Sha256::add(const void* data, std::size_t bytes) {
  state_->add(data, bytes);
  return *this;
}

Sha256& Sha256::add_part(std::string_view part) {
  const std::uint64_t bytes = part.size();
  return add(&bytes, sizeof bytes).add(part.data(), part.size());
}

Sha256::Digest Sha256::digest() {
  Digest digest{};
  state_->finish(digest.data());
  return digest;
}

}  // namespace paraes
