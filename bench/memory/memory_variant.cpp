#include "bench/memory/memory_variant.hpp"

#include <utility>

#include "bench/memory/oracle.hpp"

namespace paraes::bench {

MemoryVariant::MemoryVariant(Row row, const Job& job, std::unique_ptr<Contender> contender,
                             std::shared_ptr<Arena> arena)
    : Variant(std::move(row)),
      job_(job),
      contender_(std::move(contender)),
      arena_(std::move(arena)) {}

void MemoryVariant::set_up() {
  arena_->acquire();
  holds_arena_ = true;
  if (job_.mode == Mode::gcm && job_.direction == Direction::decrypt) {
    tag_ = gcm_tag_of_pattern(job_);
  }
}

void MemoryVariant::tear_down() noexcept {
  if (holds_arena_) arena_->release();
  holds_arena_ = false;
}

void MemoryVariant::call() {
  contender_->run(job_.in_place ? arena_->out() : arena_->in(), arena_->out(), tag_.data());
}

// In place every other mode can go on from whatever it wrote last; GCM decryption would find a
// wrong tag.
bool MemoryVariant::needs_restore() const {
  return job_.in_place && job_.mode == Mode::gcm && job_.direction == Direction::decrypt;
}

void MemoryVariant::restore() { arena_->fill_out_with_pattern(); }

void MemoryVariant::lead_in() {
  if (row().cache == "warm") call_untimed();
}

bool MemoryVariant::verify() {
  if (job_.in_place) {
    arena_->fill_out_with_pattern();
  } else {
    arena_->spoil_out();
  }
  if (job_.direction == Direction::encrypt) tag_.fill(0);
  call();
  return is_answer(job_, arena_->out(), tag_.data());
}

bool MemoryVariant::expand_key() { return contender_->expand_key(); }

}  // namespace paraes::bench
