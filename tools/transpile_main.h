// The main of transpile, for a tool with passes, quantizers and checks of one's own:
//
//   int main(int argc, char** argv) { return fixpoint::TranspileMain(argc, argv, &Extend); }

#ifndef FIXPOINT_TOOLS_TRANSPILE_MAIN_H_
#define FIXPOINT_TOOLS_TRANSPILE_MAIN_H_

#include <functional>

#include "absl/status/status.h"
#include "transpiler/extensions/extensions.h"

namespace fixpoint {

// Runs transpile, and returns its exit code. `extend` is called once, before plugins are loaded;
// null: there are only the built-in passes, quantizers and checks. An error of it ends the tool.
int TranspileMain(int argc, const char* const* argv,
                  const std::function<absl::Status(Extensions&)>& extend = nullptr);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_TRANSPILE_MAIN_H_
