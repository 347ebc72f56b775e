#include "bench/memory/memory_case.hpp"

#include "bench/memory/oracle.hpp"

namespace paraes::bench {

MemoryCase::MemoryCase(Row row, const Job& job, std::unique_ptr<Implementation> implementation,
                       std::shared_ptr<Arena> arena)
    : Case(std::move(row)),
      job_(job),
      implementation_(std::move(implementation)),
      arena_(std::move(arena)) {}

void MemoryCase::set_up() {
  arena_->acquire();
  if (job_.mode != Mode::gcm || job_.direction != Direction::decrypt) return;
  if (job_.message != 0) {
    write_tags_of_pattern(job_, arena_->writable_in());
  } else {
    tag_ = gcm_tag_of_pattern(job_);
  }
}

void MemoryCase::call() {
  implementation_->run(job_.in_place ? arena_->out() : arena_->in(), arena_->out(), tag_.data());
}

// Work in place continues from its last output. Only GCM decryption cannot: the tag would be wrong.
bool MemoryCase::needs_restore() const {
  return job_.in_place && job_.mode == Mode::gcm && job_.direction == Direction::decrypt;
}

void MemoryCase::restore() { arena_->fill_out_with_pattern(); }

void MemoryCase::lead_in() {
  if (row().cache == "warm") call_untimed();
}

bool MemoryCase::verify() {
  if (job_.in_place) {
    arena_->fill_out_with_pattern();
  } else {
    arena_->spoil_out();
  }
  if (job_.direction == Direction::encrypt) tag_.fill(0);
  call();
  return is_answer(job_, arena_->out(), tag_.data());
}

bool MemoryCase::expand_key() { return implementation_->expand_key(); }

}  // namespace paraes::bench
