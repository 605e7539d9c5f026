// Runs of `inspect`.

#include "absl/strings/str_cat.h"
#include "proto/config/run_report.pb.h"
#include "proto/file/text_message.h"
#include "tests/command_fuzz/fuzz_run.h"
#include "tests/command_fuzz/mutated_bytes.h"
#include "tests/command_fuzz/mutated_message.h"

namespace fixpoint {
namespace {

constexpr char kReport[] = R"(
  tool: "quantize" program: "net" settings { name: "samples" value: "8" } notes: "<note>"
  metrics { name: "accuracy" higher_is_better: true before: 0.9 after: 0.8 bound: 0.89 }
  forms { name: "float" parameter_bytes: 400 milliseconds: 2 }
  forms { name: "lowered" parameter_bytes: 100 milliseconds: 1 }
  ops { type: "conv2d" output: "y" shape: [-1, 8] values: [0, 1] quantized: true
        reason: "by_target" lowered: "on_integers" signal_to_noise: 20 sensitivity: 0.1
        before { milliseconds: 1 } after { milliseconds: 0.5 } }
  ops { type: "relu" output: "r" reads: 0 lowered: "in_epilogue" }
  ops { type: "mul" output: "z" reads: [0, 1] quantized: false reason: "on_request"
        difference { elements: 8 different: 2 largest: inf } }
  values { variable: "x" role: ACTIVATION spec { bits: 8 scheme: SYMMETRIC } min: -1 max: 2 low: -2
           high: 2 clipped: 0.1 histogram { edges: [-1, 0, 2] counts: [3, 4] } }
  values { variable: "w" role: WEIGHT spec { bits: 4 } channels: 8 dead_channels: 1
           channel_spread: 20 signal_to_noise: 12 }
  curves { name: "loss" steps: [1, 2] values: [3, 2] }
)";

std::string ReportText(Random* random) {
  RunReport report;
  if (!ParseTextMessage(kReport, "seed", &report).ok()) return kReport;
  for (int i = random->Below(6); i > 0; --i) ChangeAField(random, &report);
  return PrintTextMessage(report);
}

}  // namespace

void FuzzRun::Inspect() {
  const SeedProgram seed = AnySeed();
  const ProgramDesc program = Mutated(seed.program);
  const std::string path = WriteProgram("p", program);
  std::vector<std::string> arguments = {path};
  // `cost` takes longer than the others: it measures the machine.
  const int what = random_.Below(20);
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
  } else if (what < 18) {
    arguments = {"report", WriteText("a.textproto", ReportText(&random_)), "--output=page.html"};
    if (OneIn(2)) arguments.push_back(WriteText("b.textproto", ReportText(&random_)));
    Try("inspect", "report", arguments);
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
