// Short random programs on the executor and on the reference interpreter: names that are written
// again and again, some of them persistable, views and aliases, states of quantizers, gradients and
// blocks. Little is fetched, so that steps are fused and values share memory.
//
// More of them: ./bazelw test //tests/runtime/executor:random_programs_test
// --test_env=PROGRAMS=50000

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/random_program.h"

namespace fixpoint::executor {
namespace {

using Names = std::vector<std::string>;

// Variables of one shape.
struct Kind {
  char letter;
  const char* type;
  Names names;
};

const std::vector<Kind>& Kinds() {
  static const auto* const kinds = new std::vector<Kind>{
      {'m', "f32[3,2]", {"a", "b", "c", "d"}},
      {'w', "f32[2,2]", {"w", "x"}},
      {'i', "f32[1,2,2,2]", {"p", "q", "r"}},
      {'f', "f32[2,2,1,1]", {"f"}},
      {'v', "f32[2]", {"u", "v"}},
      {'n', "f32[1]", {"n"}},
  };
  return *kinds;
}

// "$m": some variable of kind m. "$t": of kind m or i, of one of them in the whole op; "$s": its
// dimensions.
const Names kOps = {
    "mul(X=$m, Y=$w) -> (Out=$m)",
    "mul(X=$m, Y=$w) -> (Out=$m)",
    "conv2d(Input=$i, Filter=$f) -> (Output=$i)",
    "conv2d(Input=$i, Filter=$f) -> (Output=$i)",
    "elementwise_add(X=$t, Y=$t) -> (Out=$t)",
    "elementwise_add(X=$t, Y=$v) -> (Out=$t) {axis=1}",
    "elementwise_sub(X=$t, Y=$t) -> (Out=$t)",
    "sum(X=[$t, $t, $t]) -> (Out=$t)",
    "relu(X=$t) -> (Out=$t)",
    "relu(X=$t) -> (Out=$t)",
    "relu6(X=$t) -> (Out=$t)",
    "relu_grad(Out=$t, Out@GRAD=$t) -> (X@GRAD=$t)",
    "scale(X=$t) -> (Out=$t) {scale=0.5, bias=1.0}",
    "increment(X=$n) -> (Out=$n) {step=1.0}",
    "assign(X=$t) -> (Out=$t)",
    "assign(X=$v) -> (Out=$v)",
    "reshape2(X=$t) -> (Out=$t, XShape=@EMPTY@) {shape=$s}",
    "transpose2(X=$w) -> (Out=$w, XShape=@EMPTY@) {axis=[1, 0]}",
    "batch_norm(X=$t, Scale=$v, Bias=$v, Mean=mean, Variance=var) -> (Y=$t, MeanOut=mean, "
    "VarianceOut=var, SavedMean=sm, SavedVariance=sv) {is_test=true}",
    "fake_quantize_dequantize_abs_max(X=$t) -> (Out=$t, OutScale=$n) {bit_length=8}",
    "fake_quantize_dequantize_abs_max(X=$w) -> (Out=$w, OutScale=$n) {bit_length=8}",
    "fake_quantize_dequantize_abs_max(X=$f) -> (Out=$f, OutScale=$n) {bit_length=8}",
    "fake_quantize_range_abs_max(X=$t, InScale=range, Iter=steps) -> (Out=$t, OutScale=range, "
    "OutScales=window) {window_size=2, bit_length=8}",
    "fake_quantize_range_abs_max(X=$t, InScale=range) -> (Out=$t, OutScale=range, "
    "OutScales=window) {window_size=2, bit_length=8, is_test=true}",
    "fake_quantize_moving_average_abs_max(X=$t, InScale=range, InState=$n, InAccum=$n) -> ("
    "Out=$t, OutScale=range, OutState=$n, OutAccum=$n) {bit_length=8}",
    "assign(X=window) -> (Out=$v)",
    "scale(X=$v) -> (Out=window) {scale=2.0}",
};

// Ops that stand in this order with others between them, which do not write <x>.
//
// What reaches x of a channel of two values is a multiple of epsilon: with the default, rounding is
// most of it, and a norm or a quantizer after it would magnify that.
const Names kNormWithGradients = {
    "scale(X=<a>) -> (Out=<x>) {scale=0.5}",
    "batch_norm(X=<x>, Scale=gain, Bias=shift, Mean=mean, Variance=var) -> (Y=<b>, MeanOut=mean, "
    "VarianceOut=var, SavedMean=sm, SavedVariance=sv) {epsilon=0.1}",
    "relu(X=<b>) -> (Out=<c>)",
    "relu_grad(Out=<c>, Out@GRAD=<d>) -> (X@GRAD=<e>)",
    "batch_norm_grad(X=<x>, Scale=gain, Bias=shift, MeanOut=mean, VarianceOut=var, SavedMean=sm, "
    "SavedVariance=sv, Y@GRAD=<e>) -> (X@GRAD=<a>, Scale@GRAD=gain, Bias@GRAD=sm) {epsilon=0.1}",
};
const Names kQuantizeAndDequantize = {
    "scale(X=<a>) -> (Out=<x>) {scale=0.5}",
    "fake_quantize_abs_max(X=<x>) -> (Out=<b>, OutScale=n) {bit_length=8}",
    "fake_dequantize_max_abs(X=<b>, Scale=n) -> (Out=<c>) {max_range=127.0}",
};

constexpr char kScope[] =
    "a f32[3,2] 1 2 -1 0.5 3 -2\nb f32[3,2] 1 0 -1 1 2 0.5\nc f32[3,2] -2 1 0 1.5 1 1\n"
    "d f32[3,2] 9 9 9 9 -9 9\nw f32[2,2] 1 -1 0.5 1\nx f32[2,2] 0 1 1.5 -2\n"
    "p f32[1,2,2,2] 1 2 3 -4 0.5 6 -7 8\nq f32[1,2,2,2] 0 1 -1 0 2 -2 1 3\n"
    "r f32[1,2,2,2] 5 5 5 5 -5 5 5 5\nf f32[2,2,1,1] 1 -1 0.5 1\nu f32[2] 1 2\nv f32[2] 0.5 -1\n"
    "n f32[1] 1\nmean f32[2] 0.5 -0.5\nvar f32[2] 1 2\nsm f32[2] 0 0\nsv f32[2] 1 1\n"
    "gain f32[2] 1.5 -1\nshift f32[2] 0.23 0.71\nrange f32[1] 4\nsteps i64[1] 3\n"
    "window f32[2] 2 4\nyes bool[1] 1\nno bool[1] 0\nlast i64[1] 2\n";

class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed) {}

  std::string Program() {
    std::string declared;
    for (const Kind& kind : Kinds()) {
      for (const std::string& name : kind.names) {
        absl::StrAppend(&declared, "var ", name, " ", kind.type,
                        random_.OneIn(2) ? " persistable\n" : "\n");
      }
    }
    absl::StrAppend(&declared,
                    "var mean f32[2] persistable\nvar var f32[2] persistable\n"
                    "var range f32[1] persistable\nvar window f32[2] persistable\n"
                    "var xm f32[3,2]\nvar xi f32[1,2,2,2]\nvar gain f32[2]\n"
                    "var turns i64[1]\nvar going bool[1]\n");
    std::string ops;
    std::deque<std::string> later;
    for (int left = 4 + random_.Below(7); left > 0 || !later.empty(); --left) {
      if (!later.empty() && (left <= 0 || random_.OneIn(2))) {
        absl::StrAppend(&ops, later.front(), "\n");
        later.pop_front();
      } else if (later.empty() && random_.OneIn(6)) {
        later = Sequence(random_.OneIn(2) ? kNormWithGradients : kQuantizeAndDequantize);
      } else if (random_.OneIn(10)) {
        absl::StrAppend(&ops, OpWithBlock());
      } else {
        absl::StrAppend(&ops, Op(), "\n");
      }
    }
    return absl::StrCat("program version=2006002\nblock 0 {\n", declared, ops, "}\n", blocks_);
  }

  Names Fetches() {
    Names fetches;
    for (const Kind& kind : Kinds()) {
      for (const std::string& name : kind.names) {
        if (written_.count(name) > 0 && random_.OneIn(3)) fetches.push_back(name);
      }
    }
    return fetches;
  }

 private:
  const std::string& Some(char letter) {
    for (const Kind& kind : Kinds()) {
      if (kind.letter == letter) return kind.names[random_.Below(kind.names.size())];
    }
    std::abort();
  }

  // An op with names for its places.
  std::string Op() {
    const bool is_image = random_.OneIn(2);
    std::string op;
    bool is_output = false;
    const std::string form = random_.OneOf(kOps);
    for (size_t i = 0; i < form.size(); ++i) {
      if (absl::StartsWith(absl::string_view(form).substr(i), "->")) is_output = true;
      if (form[i] != '$') {
        op += form[i];
        continue;
      }
      const char letter = form[++i];
      if (letter == 's') {
        op += is_image ? "[1, 2, 2, 2]" : "[3, 2]";
        continue;
      }
      const std::string& name = Some(letter != 't' ? letter : is_image ? 'i' : 'm');
      (is_output ? written_ : read_).insert(name);
      op += name;
    }
    return op;
  }

  // The same names stand in all of the ops.
  std::deque<std::string> Sequence(const Names& forms) {
    const bool is_image = random_.OneIn(2);
    std::vector<std::pair<std::string, std::string>> names = {{"<x>", is_image ? "xi" : "xm"}};
    for (const char* place : {"<a>", "<b>", "<c>", "<d>", "<e>"}) {
      names.emplace_back(place, Some(is_image ? 'i' : 'm'));
    }
    written_.insert(names[2].second);
    std::deque<std::string> ops;
    for (const std::string& form : forms) ops.push_back(absl::StrReplaceAll(form, names));
    return ops;
  }

  // A conditional, or a loop of two turns, and its block.
  std::string OpWithBlock() {
    const int number = ++block_count_;
    const std::set<std::string> read = std::exchange(read_, {});
    const std::set<std::string> written = std::exchange(written_, {});
    std::string block = absl::StrCat("block ", number, " parent=0 {\n");
    for (int i = 1 + random_.Below(4); i > 0; --i) absl::StrAppend(&block, Op(), "\n");
    const bool is_loop = random_.OneIn(2);
    if (is_loop) {
      read_.insert({"last", "turns"});
      written_.insert({"going", "turns"});
    }
    const std::string reads = absl::StrJoin(read_, ", ");
    const std::string writes = absl::StrJoin(written_, ", ");
    read_.insert(read.begin(), read.end());
    written_.insert(written.begin(), written.end());
    if (!is_loop) {
      absl::StrAppend(&blocks_, block, "}\n");
      return absl::StrCat("conditional_block(Cond=", random_.OneIn(3) ? "no" : "yes", ", Input=[",
                          reads, "]) -> (Out=[", writes, "], Scope=[]) {sub_block=block(", number,
                          "), is_scalar_condition=true}\n");
    }
    absl::StrAppend(&blocks_, block,
                    "increment(X=turns) -> (Out=turns) {step=1.0}\n"
                    "less_than(X=turns, Y=last) -> (Out=going)\n}\n");
    return absl::StrCat(
        "fill_constant() -> (Out=turns) {shape=[1L], dtype=3, value=0.0}\n"
        "less_than(X=turns, Y=last) -> (Out=going)\n"
        "while(X=[",
        reads, "], Condition=going) -> (Out=[", writes, "], StepScopes=[]) {sub_block=block(",
        number, ")}\n");
  }

  Random random_;
  std::set<std::string> read_;
  std::set<std::string> written_;
  int block_count_ = 0;
  std::string blocks_;
};

int ProgramsToTry() {
  constexpr int kFew = 1500;
  const char* asked = std::getenv("PROGRAMS");
  int programs;
  return asked != nullptr && absl::SimpleAtoi(asked, &programs) ? programs : kFew;
}

TEST(RandomPrograms, LeaveWhatTheInterpreterLeaves) {
  const int programs = ProgramsToTry();
  int refused = 0;
  for (int seed = 0; seed < programs; ++seed) {
    Writer writer(seed);
    const std::string text = writer.Program();
    const Names fetches = writer.Fetches();
    // A code may be the next one where what is quantized is rounded.
    const bool has_codes = absl::StrContains(text, "fake_quantize");
    const Program program = ParsedProgram(text);
    Scopes scopes = CopiesOf(*ParseParameters(kScope, "scope"));
    const std::string differences =
        RunOnBoth(program, fetches, 0, has_codes ? 0.05 : 1e-4, &scopes);
    if (absl::StartsWith(differences, "executor: ")) {
      ++refused;
      continue;
    }
    EXPECT_EQ(differences, "") << seed << ": " << absl::StrJoin(fetches, ", ") << "\n" << text;
  }
  EXPECT_LT(refused, programs / 20);
}

}  // namespace
}  // namespace fixpoint::executor
