// Forward declarations. CLI11's header takes seconds to compile: only its callers include it.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
