// Inference on batches that all have other lengths, beside as many batches of their mean length.
// Each pair of numbers is of two predictors that begin anew. And what a shape costs when it is new,
// once the predictor has seen a dozen: the time that the first batch of a length takes longer than
// the second one, as a share of the second one's. Last, what the plan of a program of 2,000 ops
// takes for a new shape.
//
//   lengths_benchmark [NETWORK | plan]

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "benchmarks/clock.h"
#include "ops/lod.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "runtime/backend.h"
#include "runtime/executor/constants.h"
#include "runtime/executor/executor.h"
#include "runtime/parameter_file.h"
#include "runtime/predictor.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

constexpr int64_t kLengths = 100;
constexpr int64_t kShortest = 17;
constexpr int64_t kMean = kShortest + kLengths / 2;
constexpr int64_t kWords = 2000;
constexpr int kRounds = 3;
constexpr size_t kDozen = 12;
constexpr int64_t kOps = 2000;

// In [low, high).
Tensor Drawn(std::vector<int64_t> dims, double low, double high, uint32_t number) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  const RandomStream random(1, number, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = static_cast<float>(low + (high - low) * random.Uniform(i));
  }
  return tensor;
}

Tensor DrawnWords(std::vector<int64_t> dims) {
  Tensor tensor = *Tensor::Allocate(VarType::INT64, std::move(dims));
  const RandomStream random(1, 0, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<int64_t>()[i] = static_cast<int64_t>(kWords * random.Uniform(i));
  }
  return tensor;
}

// Matrices and filters with elements of both signs, vectors with positive ones: some are variances.
Scope DrawnParameters(const Program& program) {
  Scope scope;
  uint32_t number = 1;
  for (const ParameterInfo& parameter : ParametersOf(program.Proto())) {
    const VarType::TensorDesc* desc = program.Find(program.block(0), parameter.name)->tensor();
    const std::vector<int64_t> dims(desc->dims().begin(), desc->dims().end());
    const double inputs =
        std::accumulate(dims.begin(), dims.end(), 1.0, std::multiplies<double>()) / dims[0];
    const double size = 1 / std::sqrt(inputs);
    scope.Set(parameter.name,
              Drawn(dims, dims.size() > 1 ? -size : 0.5, dims.size() > 1 ? size : 1, number++));
  }
  return scope;
}

// A network, and its batch of a length.
struct Network {
  std::string name;
  std::function<Program()> make;
  std::function<Tensor(int64_t length)> batch;
};

// Sentences whose mean length is `length`.
Tensor Sentences(int64_t count, int64_t length) {
  LoD lod(1);
  lod[0].push_back(0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t other = i % 2 == 0 ? -(i % 13) : (i - 1) % 13;
    lod[0].push_back(lod[0].back() + length + other);
  }
  Tensor words = DrawnWords({static_cast<int64_t>(lod[0].back()), 1});
  words.set_lod(std::move(lod));
  return words;
}

// Two layers of GRUs in both directions over the words of sentences, and the best tags.
Program Tagger() {
  std::string text = absl::StrCat("program version=2006002\nblock 0 {\n  var words i64[-1,1]\n",
                                  "  var table f32[", kWords, ",128] persistable\n",
                                  "  lookup_table(W=table, Ids=words) -> (Out=x0)\n");
  int64_t width = 128;
  for (int layer = 0; layer < 2; ++layer) {
    for (const char* direction : {"f", "b"}) {
      absl::StrAppend(
          &text, absl::Substitute(R"(
  var w$0$1 f32[$2,768] persistable
  var c$0$1 f32[768] persistable
  var r$0$1 f32[256,768] persistable
  var b$0$1 f32[1,768] persistable
  mul(X=x$0, Y=w$0$1) -> (Out=p$0$1)
  elementwise_add(X=p$0$1, Y=c$0$1) -> (Out=q$0$1) {axis=1}
  gru(Input=q$0$1, Weight=r$0$1, Bias=b$0$1) -> (BatchGate=g$0$1, BatchResetHiddenPrev=h$0$1, BatchHidden=i$0$1, Hidden=y$0$1) {is_reverse=$3}
)",
                                  layer, direction, width, *direction == 'b' ? "true" : "false"));
    }
    absl::StrAppend(&text, "  concat(X=[y", layer, "f, y", layer, "b]) -> (Out=x", layer + 1,
                    ") {axis=1}\n");
    width = 512;
  }
  absl::StrAppend(&text, R"(
  var w f32[512,57] persistable
  var t f32[59,57] persistable
  mul(X=x2, Y=w) -> (Out=e)
  crf_decoding(Emission=e, Transition=t) -> (ViterbiPath=out)
})");
  return ParsedProgram(text);
}

// Two convolutions over the words of sentences, and the largest of each channel.
Program Classifier() {
  return ParsedProgram(absl::Substitute(R"(program version=2006002
block 0 {
  var words i64[-1,1]
  var table f32[$0,128] persistable
  var w f32[384,256] persistable
  var v f32[512,256] persistable
  var u f32[512,2] persistable
  lookup_table(W=table, Ids=words) -> (Out=x)
  sequence_conv(X=x, Filter=w) -> (Out=a) {contextLength=3, contextStart=-1}
  tanh(X=a) -> (Out=b)
  sequence_pool(X=b) -> (Out=c, MaxIndex=ci) {pooltype="MAX"}
  sequence_conv(X=x, Filter=v) -> (Out=d) {contextLength=4, contextStart=-1}
  tanh(X=d) -> (Out=e)
  sequence_pool(X=e) -> (Out=f, MaxIndex=fi) {pooltype="MAX"}
  concat(X=[c, f]) -> (Out=g) {axis=1}
  mul(X=g, Y=u) -> (Out=h)
  softmax(X=h) -> (Out=out)
})",
                                        kWords));
}

// Layers of attention and two products each over the words of sentences of one length.
Program Encoder() {
  std::string text = absl::StrCat("program version=2006002\nblock 0 {\n  var words i64[-1,-1]\n",
                                  "  var table f32[", kWords, ",256] persistable\n",
                                  "  lookup_table_v2(W=table, Ids=words) -> (Out=x0)\n");
  for (int layer = 0; layer < 4; ++layer) {
    for (const char* part : {"q", "k", "v"}) {
      absl::StrAppend(&text, absl::Substitute(R"(
  var w$1$0 f32[256,256] persistable
  var b$1$0 f32[256] persistable
  matmul_v2(X=x$0, Y=w$1$0) -> (Out=p$1$0)
  elementwise_add(X=p$1$0, Y=b$1$0) -> (Out=a$1$0) {axis=2}
  reshape2(X=a$1$0) -> (Out=s$1$0, XShape=xs$1$0) {shape=[0, 0, 4, 64]}
  transpose2(X=s$1$0) -> (Out=$1$0, XShape=xt$1$0) {axis=[0, 2, 1, 3]}
)",
                                              layer, part));
    }
    absl::StrAppend(&text, absl::Substitute(R"(
  var wo$0 f32[256,256] persistable
  var bo$0 f32[256] persistable
  var wm$0 f32[256,1024] persistable
  var bm$0 f32[1024] persistable
  var wn$0 f32[1024,256] persistable
  var bn$0 f32[256] persistable
  var sc$0 f32[256] persistable
  var bi$0 f32[256] persistable
  var sd$0 f32[256] persistable
  var bj$0 f32[256] persistable
  scale(X=q$0) -> (Out=qs$0) {scale=0.125}
  matmul_v2(X=qs$0, Y=k$0) -> (Out=qk$0) {trans_y=true}
  softmax(X=qk$0) -> (Out=sm$0)
  matmul_v2(X=sm$0, Y=v$0) -> (Out=z$0)
  transpose2(X=z$0) -> (Out=zt$0, XShape=xzt$0) {axis=[0, 2, 1, 3]}
  reshape2(X=zt$0) -> (Out=zr$0, XShape=xzr$0) {shape=[0, 0, 256]}
  matmul_v2(X=zr$0, Y=wo$0) -> (Out=zo$0)
  elementwise_add(X=zo$0, Y=bo$0) -> (Out=zb$0) {axis=2}
  elementwise_add(X=zb$0, Y=x$0) -> (Out=za$0)
  layer_norm(X=za$0, Scale=sc$0, Bias=bi$0) -> (Y=ln$0, Mean=lm$0, Variance=lv$0) {begin_norm_axis=2, epsilon=1e-5}
  matmul_v2(X=ln$0, Y=wm$0) -> (Out=m$0)
  elementwise_add(X=m$0, Y=bm$0) -> (Out=mb$0) {axis=2}
  gelu(X=mb$0) -> (Out=ma$0)
  matmul_v2(X=ma$0, Y=wn$0) -> (Out=n$0)
  elementwise_add(X=n$0, Y=bn$0) -> (Out=nb$0) {axis=2}
  elementwise_add(X=nb$0, Y=ln$0) -> (Out=na$0)
  layer_norm(X=na$0, Scale=sd$0, Bias=bj$0) -> (Y=x$1, Mean=mm$0, Variance=mv$0) {begin_norm_axis=2, epsilon=1e-5}
)",
                                            layer, layer + 1));
  }
  absl::StrAppend(&text, "  scale(X=x4) -> (Out=out) {scale=2.0}\n}");
  return ParsedProgram(text);
}

// A program of the reference data that takes images of any width.
Program Recognizer() {
  const std::string path = ReferencePath("models/ch_PP-OCRv2_rec_infer.pdmodel.gz");
  CHECK(!path.empty()) << "no reference data";
  ProgramDesc desc;
  CHECK(desc.ParseFromString(ReadFileOrDie(path)));
  return *Program::Create(std::move(desc), path);
}

std::vector<Network> Networks() {
  const auto sentences = [](int64_t length) { return Sentences(8, length); };
  return {{"tagger", Tagger, sentences},
          {"classifier", Classifier, sentences},
          {"encoder", Encoder,
           [](int64_t length) {
             return DrawnWords({8, length});
           }},
          {"recognizer", Recognizer, [](int64_t length) {
             return Drawn({1, 3, 32, 4 * length}, -1, 1, 0);
           }}};
}

std::unique_ptr<Predictor> MakePredictor(const Network& network) {
  Program program = network.make();
  Scope scope = DrawnParameters(program);
  PredictorOptions options;
  if (FedVariables(program).empty()) options.inputs = {"words"};
  if (FetchedVariables(program).empty()) options.outputs = {"out"};
  auto predictor = Predictor::Create(std::move(program), std::move(scope), options);
  CHECK(predictor.ok()) << network.name << ": " << predictor.status();
  return *std::move(predictor);
}

double SecondsOf(const Network& network, const Tensor& batch, Predictor* predictor,
                 std::vector<Tensor>* outputs) {
  const double begin = CpuSeconds();
  const absl::Status status = predictor->Run(absl::MakeSpan(&batch, 1), outputs);
  const double seconds = CpuSeconds() - begin;
  CHECK(status.ok()) << network.name << ": " << status;
  return seconds;
}

// The processor time of the batches in turn.
double Seconds(const Network& network, const std::vector<int64_t>& lengths) {
  const std::unique_ptr<Predictor> predictor = MakePredictor(network);
  double seconds = 0;
  std::vector<Tensor> outputs;
  for (const int64_t length : lengths) {
    seconds += SecondsOf(network, network.batch(length), predictor.get(), &outputs);
  }
  return seconds;
}

// What a new length costs after the first dozen, as a share of a run.
double CostOfNew(const Network& network, const std::vector<int64_t>& lengths) {
  const std::unique_ptr<Predictor> predictor = MakePredictor(network);
  double first = 0;
  double second = 0;
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const Tensor batch = network.batch(lengths[i]);
    const double of_first = SecondsOf(network, batch, predictor.get(), &outputs);
    const double of_second = SecondsOf(network, batch, predictor.get(), &outputs);
    if (i < kDozen) continue;
    first += of_first;
    second += of_second;
  }
  return first / second - 1;
}

double Median(std::vector<double> of_rounds) {
  const auto middle = of_rounds.begin() + of_rounds.size() / 2;
  std::nth_element(of_rounds.begin(), middle, of_rounds.end());
  return *middle;
}

void Measure(const Network& network) {
  std::vector<int64_t> lengths(kLengths);
  // 37 and 100 have no common divisor: each length once, in no order.
  for (int64_t i = 0; i < kLengths; ++i) lengths[i] = kShortest + 37 * i % kLengths;
  const std::vector<int64_t> same(kLengths, kMean);
  std::vector<double> of_same;
  std::vector<double> ratios;
  std::vector<double> costs;
  for (int i = 0; i < kRounds; ++i) {
    of_same.push_back(Seconds(network, same));
    ratios.push_back(Seconds(network, lengths) / of_same.back());
    costs.push_back(CostOfNew(network, lengths));
  }
  const double milliseconds = 1e3 * Median(of_same) / kLengths;
  const double ratio = Median(ratios);
  std::printf("%-12s %9.3f ms %9.3f ms %6.2f %8.1f %%\n", network.name.c_str(), milliseconds,
              milliseconds * ratio, ratio, 100 * Median(costs));
}

// Products of rows, each with a bias, an activation and a scale, one after the other.
Program OfManyOps() {
  std::string text = "program version=2006002\nblock 0 {\n  var x0 f32[-1,16]\n";
  for (int64_t i = 0; i < kOps / 4; ++i) {
    absl::StrAppend(&text, absl::Substitute(R"(
  var w$0 f32[16,16] persistable
  var b$0 f32[16] persistable
  mul(X=x$0, Y=w$0) -> (Out=p$0)
  elementwise_add(X=p$0, Y=b$0) -> (Out=a$0) {axis=1}
  tanh(X=a$0) -> (Out=t$0)
  scale(X=t$0) -> (Out=x$1) {scale=0.5}
)",
                                            i, i + 1));
  }
  absl::StrAppend(&text, "}");
  return ParsedProgram(text);
}

// How long a predictor takes to plan for a new number of rows, without the run.
void MeasurePlanning() {
  const Program program = OfManyOps();
  Scope scope = DrawnParameters(program);
  executor::ConstantStore constants;
  executor::ExecutorOptions options;
  options.constants = &constants;
  const auto executor = executor::Executor::Create(program, &scope, options);
  CHECK(executor.ok()) << executor.status();
  std::vector<double> seconds;
  for (int64_t i = 0; i < kLengths; ++i) {
    const Tensor batch = Drawn({kShortest + 37 * i % kLengths, 16}, -1, 1, 0);
    const Feed feed{"x0", &batch};
    const double begin = CpuSeconds();
    const auto plan = (*executor)->PlanOf({feed}, {absl::StrCat("x", kOps / 4)});
    CHECK(plan.ok()) << plan.status();
    if (i >= static_cast<int64_t>(kDozen)) seconds.push_back(CpuSeconds() - begin);
  }
  std::printf("a plan of %d ops for a new shape takes %.1f ms\n", static_cast<int>(kOps),
              1e3 * Median(seconds));
}

void Run(const std::string& name) {
  if (name == "plan") return MeasurePlanning();
  std::printf("%-12s %12s %12s %6s %10s\n", "a batch of", "one length", "100 lengths", "ratio",
              "new length");
  for (const Network& network : Networks()) {
    if (name.empty() || name == network.name) Measure(network);
  }
  if (name.empty()) MeasurePlanning();
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  fixpoint::Run(argc > 1 ? argv[1] : "");
  return 0;
}
