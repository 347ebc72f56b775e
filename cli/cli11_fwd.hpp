// Names of CLI11, whose header takes a compiler seconds: only those who call it include that.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
