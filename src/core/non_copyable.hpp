// Bases of classes whose objects are neither copied nor moved.
#pragma once

namespace paraes {

class NonCopyable {
 public:
  NonCopyable() = default;
  NonCopyable(const NonCopyable&) = delete;
  NonCopyable& operator=(const NonCopyable&) = delete;

 protected:
  ~NonCopyable() = default;
};

// A base of interfaces, whose implementations are destroyed through them.
class Interface : NonCopyable {
 public:
  Interface() = default;
  virtual ~Interface() = default;
};

}  // namespace paraes
