// compare_ops: every op that the executor runs, on random shapes, attributes and values, beside the
// reference interpreter, on each instruction set.
//
// oneDNN reads once in a process which instructions it may use, so each set has a process of its
// own; where one ends in a crash, another goes on with the next op.

#include <gflags/gflags.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/thread_waiting.h"
#include "tests/random/comparison.h"
#include "tests/random/generators.h"

DEFINE_uint64(cases, 2000, "Cases of each op on each instruction set.");
DEFINE_uint64(seed, 0, "The seed of the first case.");
DEFINE_string(op, "", "The ops, separated by semicolons; empty for all.");
DEFINE_string(isa, "sse41,avx2,avx512_core,avx512_core_vnni",
              "The instruction sets that oneDNN and our loops are limited to; those that the "
              "machine lacks are skipped.");
DEFINE_uint64(part, 0, "Which part of the ops, 0 to parts - 1.");
DEFINE_uint64(parts, 1, "How many parts the ops are shared out to.");
DEFINE_bool(verbose, false, "Prints the figures of every op, and what is refused.");

namespace fixpoint::random_cases {
namespace {

// What the processes tell the first one.
struct Shared {
  size_t op;  // that is compared
  uint64_t seed;
  uint64_t compared;
  uint64_t refused;
  uint64_t failed;  // ops
  bool is_skipped;
};

struct Counts {
  uint64_t same = 0;
  uint64_t refused = 0;
  uint64_t invalid = 0;
  uint64_t differ = 0;
};

// What a machine that is limited to the set has.
struct Instructions {
  kernels::InstructionSet loops;
  bool has_vnni;
};

const std::map<std::string, Instructions>& InstructionSets() {
  using kernels::InstructionSet;
  static const auto* const sets = new std::map<std::string, Instructions>{
      {"sse41", {InstructionSet::kSse41, false}},
      {"avx2", {InstructionSet::kAvx2, false}},
      {"avx2_vnni", {InstructionSet::kAvx2, true}},
      {"avx512_core", {InstructionSet::kAvx512, false}},
      {"avx512_core_vnni", {InstructionSet::kAvx512, true}}};
  return *sets;
}

// Prints what is wrong, of the failing case that has the fewest elements.
void CompareOp(const std::string& isa, const std::string& op, Shared* shared) {
  Counts counts;
  Compared smallest;
  uint64_t smallest_seed = 0;
  const auto start = std::chrono::steady_clock::now();
  std::string refusal;
  for (uint64_t seed = FLAGS_seed; seed < FLAGS_seed + FLAGS_cases; ++seed) {
    shared->seed = seed;
    Compared compared = Compare(MakeCase(op, seed), seed);
    switch (compared.outcome) {
      case Outcome::kSame:
        ++counts.same;
        continue;
      case Outcome::kRefused:
        ++counts.refused;
        refusal = absl::StrCat("--seed=", seed, ": ", compared.text);
        continue;
      case Outcome::kInvalid:
        ++counts.invalid;
        refusal = absl::StrCat("--seed=", seed, ": ", compared.text);
        continue;
      case Outcome::kDiffers:
        if (FLAGS_verbose) std::printf("  --seed=%lu: %s\n", seed, compared.text.c_str());
        if (++counts.differ == 1 || compared.elements < smallest.elements) {
          smallest = std::move(compared);
          smallest_seed = seed;
        }
    }
  }
  shared->compared += counts.same + counts.differ;
  shared->refused += counts.refused;
  const bool are_few = counts.same + counts.differ < (FLAGS_cases + 1) / 2;
  if (FLAGS_verbose || counts.differ > 0 || are_few) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%s %s: %lu same, %lu refused, %lu invalid, %lu differ, in %.2f s\n", isa.c_str(),
                op.c_str(), counts.same, counts.refused, counts.invalid, counts.differ,
                seconds.count());
  }
  if (!refusal.empty() && (FLAGS_verbose || are_few)) {
    std::printf("  refused, for instance %s\n", refusal.c_str());
  }
  if (counts.differ > 0) {
    std::printf("  the smallest: --op=\"%s\" --isa=%s --cases=1 --seed=%lu\n%s\n%s%s\n", op.c_str(),
                isa.c_str(), smallest_seed, smallest.text.c_str(), smallest.program.c_str(),
                smallest.inputs.c_str());
  }
  if (counts.differ > 0 || are_few) ++shared->failed;
  std::fflush(stdout);
}

// In a process of its own: the ops from `first` on.
void CompareAll(const std::string& isa, const std::vector<std::string>& ops, size_t first,
                Shared* shared) {
  setenv("ONEDNN_MAX_CPU_ISA", absl::AsciiStrToUpper(isa).c_str(), /*overwrite=*/1);
  const Instructions& wanted = InstructionSets().at(isa);
  shared->is_skipped =
      kernels::BestInstructionSet() != wanted.loops || kernels::HasVnni() != wanted.has_vnni;
  if (shared->is_skipped) return;
  for (size_t op = first; op < ops.size(); ++op) {
    shared->op = op;
    CompareOp(isa, ops[op], shared);
  }
}

// Whether nothing differs.
bool CompareOn(const std::string& isa, const std::vector<std::string>& ops) {
  auto* const shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  *shared = {};
  for (size_t first = 0; first < ops.size(); first = shared->op + 1) {
    std::fflush(stdout);
    const pid_t process = fork();
    if (process == 0) {
      CompareAll(isa, ops, first, shared);
      std::_Exit(0);
    }
    int status = 0;
    if (process < 0 || waitpid(process, &status, 0) != process) {
      std::printf("%s: no process for it\n", isa.c_str());
      return false;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    ++shared->failed;
    std::printf("%s %s: ends with status %d: --op=\"%s\" --isa=%s --cases=1 --seed=%lu\n",
                isa.c_str(), ops[shared->op].c_str(), status, ops[shared->op].c_str(), isa.c_str(),
                shared->seed);
  }
  if (shared->is_skipped) {
    std::printf("%s: skipped, the machine lacks it\n", isa.c_str());
  } else {
    std::printf("%s: %lu cases of %zu ops compared, %lu refused; %lu ops differ\n", isa.c_str(),
                shared->compared, ops.size(), shared->refused, shared->failed);
  }
  const bool is_same = shared->failed == 0;
  munmap(shared, sizeof(Shared));
  return is_same;
}

std::vector<std::string> OpsToCompare() {
  std::vector<std::string> ops = AllNames();
  if (!FLAGS_op.empty()) {
    const std::vector<std::string> asked = absl::StrSplit(FLAGS_op, ';');
    for (const std::string& op : asked) {
      if (std::find(ops.begin(), ops.end(), op) != ops.end()) continue;
      std::printf("--op=%s: no such op; there are %s\n", op.c_str(),
                  absl::StrJoin(ops, "; ").c_str());
      std::exit(2);
    }
    ops = asked;
  }
  std::vector<std::string> part;
  for (size_t i = FLAGS_part; i < ops.size(); i += FLAGS_parts) part.push_back(ops[i]);
  return part;
}

int Run() {
  bool is_same = true;
  for (const std::string& type : NamesWithoutCases()) {
    std::printf("%s: no generator makes cases of it (tests/random/generators)\n", type.c_str());
    is_same = false;
  }
  const std::vector<std::string> ops = OpsToCompare();
  const std::vector<std::string> sets = absl::StrSplit(FLAGS_isa, ',');
  for (const std::string& isa : sets) {
    if (InstructionSets().count(isa) == 0) {
      std::printf("--isa=%s: no such instruction set; there are %s\n", isa.c_str(),
                  absl::StrJoin(InstructionSets(), ", ", [](std::string* text, const auto& set) {
                    text->append(set.first);
                  }).c_str());
      return 2;
    }
    is_same &= CompareOn(isa, ops);
  }
  return is_same ? 0 : 1;
}

}  // namespace
}  // namespace fixpoint::random_cases

int main(int argc, char** argv) {
  fixpoint::SpinBriefly(argv);
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  return fixpoint::random_cases::Run();
}
