// Runs of `inspect`.

#include "absl/strings/str_cat.h"
#include "tests/command_fuzz/fuzz_run.h"
#include "tests/command_fuzz/mutated_bytes.h"

namespace fixpoint {

void FuzzRun::Inspect() {
  const SeedProgram seed = AnySeed();
  const ProgramDesc program = Mutated(seed.program);
  const std::string path = WriteProgram("p", program);
  std::vector<std::string> arguments = {path};
  // `cost` takes longer than the others: it measures the machine.
  const int what = random_.Below(18);
  if (what < 4) {
    arguments.insert(arguments.begin(), "diff");
    arguments.push_back(WriteProgram("other", OneIn(2) ? Mutated(program) : seed.program));
    Sometimes(4, "--ignore_names", &arguments);
    Sometimes(4, "--strict", &arguments);
    Sometimes(4, "--nodebug_attributes", &arguments);
    Sometimes(4, "--json", &arguments);
    Try("inspect", "diff", arguments);
  } else if (what < 8) {
    arguments.insert(arguments.begin(), "verify");
    if (seed.startup.has_value() && OneIn(2)) {
      const ProgramDesc startup = OneIn(2) ? Mutated(*seed.startup) : *seed.startup;
      arguments.push_back(absl::StrCat("--startup=", WriteProgram("s", startup)));
    }
    Sometimes(4, "--json", &arguments);
    Try("inspect", "verify", arguments);
  } else if (what < 10) {
    arguments.insert(arguments.begin(), "stats");
    Sometimes(3, "--json", &arguments);
    Try("inspect", "stats", arguments);
  } else if (what < 12) {
    arguments.insert(arguments.begin(), "text");
    Sometimes(3, "--nodebug_attributes", &arguments);
    Try("inspect", "text", arguments);
  } else if (what < 14) {
    arguments.insert(arguments.begin(), "dot");
    Sometimes(3, "--nobackward", &arguments);
    Sometimes(3, "--nooptimizer", &arguments);
    Try("inspect", "dot", arguments);
  } else if (what < 16) {
    static constexpr const char* kOutputs[] = {"c.txt", "c.pdmodel", "c.pbtxt", "c.pb.gz", "c"};
    arguments.insert(arguments.begin(), "convert");
    arguments.push_back(absl::StrCat("--output=", kOutputs[random_.Below(5)]));
    Sometimes(3, "--to=binary", &arguments);
    Sometimes(6, "--to=protobuf_text", &arguments);
    Try("inspect", "convert", arguments);
  } else {
    arguments.insert(arguments.begin(), "cost");
    if (OneIn(2)) arguments.push_back(absl::StrCat("--fetches=", FetchNames(program, 1)));
    Sometimes(3, "--batch_size=2", &arguments);
    Sometimes(6, "--target=tensorrt_int8", &arguments);
    Sometimes(6, "--shapes=x=1x8", &arguments);
    Sometimes(4, "--json", &arguments);
    if (OneIn(6)) {
      arguments.push_back(
          absl::StrCat("--config=", WriteText("c.textproto", random_.OneOf(seeds_.configs))));
    }
    Try("inspect", "cost", arguments);
  }
}

}  // namespace fixpoint
