// The text form against protobuf's TextFormat on the same program of 10,000 ops, taken in turns.
// `ratio` is how many times faster the text form is:
//
//   ./bazelw run --config=opt //benchmarks:program_text_benchmark

#include <benchmark/benchmark.h>
#include <glog/logging.h>
#include <google/protobuf/text_format.h>

#include <chrono>
#include <string>

#include "benchmarks/op_mix.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using ::google::protobuf::TextFormat;

constexpr int kOps = 10000;

const ProgramDesc& Program() {
  static const auto* const program = new ProgramDesc(RepeatOpMix(OpMixSeed(), kOps));
  return *program;
}

template <typename Run>
double MillisecondsOf(Run run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

template <typename RunTextForm, typename RunTextFormat>
void Compare(benchmark::State& state, RunTextForm run_text_form, RunTextFormat run_text_format) {
  double text_form = 0;
  double text_format = 0;
  for (auto _ : state) {
    const double milliseconds = run_text_form();
    state.SetIterationTime(milliseconds / 1000);
    text_form += milliseconds;
    text_format += run_text_format();
  }
  state.counters["text_form_ms"] = text_form / static_cast<double>(state.iterations());
  state.counters["text_format_ms"] = text_format / static_cast<double>(state.iterations());
  state.counters["ratio"] = text_format / text_form;
}

void Print(benchmark::State& state) {
  const ProgramDesc& program = Program();
  Compare(
      state,
      [&] {
        std::string text;
        return MillisecondsOf([&] { text = PrintProgram(program); });
      },
      [&] {
        std::string text;
        return MillisecondsOf([&] { CHECK(TextFormat::PrintToString(program, &text)); });
      });
}

void Parse(benchmark::State& state) {
  const std::string text_form = PrintProgram(Program());
  std::string text_format;
  CHECK(TextFormat::PrintToString(Program(), &text_format));
  Compare(
      state,
      [&] {
        absl::StatusOr<ProgramDesc> program;
        const double milliseconds =
            MillisecondsOf([&] { program = ParseProgramText(text_form, "program.txt"); });
        CHECK(program.ok()) << program.status();
        return milliseconds;
      },
      [&] {
        ProgramDesc program;
        return MillisecondsOf([&] { CHECK(TextFormat::ParseFromString(text_format, &program)); });
      });
}

// For scale: what the same message costs from its binary form.
void ParseBinary(benchmark::State& state) {
  const std::string bytes = Program().SerializeAsString();
  for (auto _ : state) {
    ProgramDesc program;
    state.SetIterationTime(MillisecondsOf([&] { CHECK(program.ParseFromString(bytes)); }) / 1000);
  }
}

BENCHMARK(Print)->UseManualTime()->Unit(benchmark::kMillisecond)->Repetitions(5);
BENCHMARK(Parse)->UseManualTime()->Unit(benchmark::kMillisecond)->Repetitions(5);
BENCHMARK(ParseBinary)->UseManualTime()->Unit(benchmark::kMillisecond)->Repetitions(5);

}  // namespace
}  // namespace fixpoint

BENCHMARK_MAIN();
