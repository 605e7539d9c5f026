#include "tests/property/rewrite_property.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/backward.h"
#include "ops/layers.h"
#include "ops/program_builder.h"
#include "ops/verifier.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/property/random_pattern.h"
#include "tests/testing/random_program.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/patterns/pattern_file.h"
#include "transpiler/patterns/rewrite.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

constexpr int kWidth = 4;
constexpr int kRandomPatterns = 3;
// The interpreter computes in double.
constexpr double kTolerance = 1e-6;

std::vector<Pattern> Shipped(const std::string& file) { return LoadPatterns(file).value(); }

// The files whose patterns are about rows of floats, and for each the one that leads back.
constexpr std::pair<const char*, const char*> kFamilies[] = {
    {"swish", "swish_components"},           {"gelu", "gelu_components"},
    {"layer_norm", "layer_norm_components"}, {"fc", "fc_components"},
    {"attention", "attention_components"},
};

struct Network {
  Program program;
  Program startup;
  std::string loss = {};
  std::vector<std::string> fetches = {};
  std::vector<ParameterGradient> gradients = {};
  std::vector<Pattern> patterns = {};  // random ones, whose ops stand in it
};

class NetworkWriter {
 public:
  explicit NetworkWriter(uint64_t seed)
      : random_(seed),
        trains_(!random_.OneIn(3)),
        network_(random_.OneIn(2) ? Network{EmptyProgram(2, 6, 2), EmptyProgram(2, 6, 2)}
                                  : Network{EmptyProgram(1, 8, 5), EmptyProgram(1, 8, 5)}),
        net_(&network_.program, &network_.startup),
        rank_(2 + random_.Below(2)) {}

  absl::StatusOr<Network> Write() {
    dims_.assign(rank_, 3);
    dims_.back() = kWidth;
    RETURN_IF_ERROR(DrawPatterns());
    current_ = Product(Data(net_, "x", dims_));
    const int layers = 3 + random_.Below(6);
    for (int i = 0; i < layers; ++i) AddLayer();
    network_.loss = Mean(net_, current_);
    for (const std::string& value : leaked_) {
      network_.loss = Add(net_, network_.loss, Mean(net_, Activation(net_, value, "tanh")));
    }
    RETURN_IF_ERROR(net_.status());
    network_.fetches = {network_.loss};
    if (trains_) {
      ASSIGN_OR_RETURN(network_.gradients,
                       AppendBackward(&network_.program, network_.loss, {net_.no_gradient()}));
      for (const ParameterGradient& gradient : network_.gradients) {
        network_.fetches.push_back(gradient.gradient);
      }
    }
    return std::move(network_);
  }

 private:
  absl::Status DrawPatterns() {
    for (int i = 0; i < kRandomPatterns; ++i) {
      ASSIGN_OR_RETURN(RandomPattern drawn,
                       MakeRandomPattern(absl::StrCat("random", i), dims_, random_));
      for (Pattern& pattern : drawn.patterns) network_.patterns.push_back(std::move(pattern));
    }
    return absl::OkStatus();
  }

  std::string Parameter(std::vector<int64_t> dims) {
    Persistable parameter;
    parameter.name = net_.UniqueName("parameter");
    parameter.dims = std::move(dims);
    parameter.initializer = Initializer::Uniform(-0.7f, 0.7f, 1 + random_.Below(1000));
    parameter.is_parameter = true;
    net_.AddPersistable(parameter);
    return parameter.name;
  }

  std::string Product(const std::string& x) {
    return net_.AppendWithOutput(net_.New("mul")
                                     .Input("X", x)
                                     .Input("Y", Parameter({kWidth, kWidth}))
                                     .IntAttr("x_num_col_dims", rank_ - 1)
                                     .IntAttr("y_num_col_dims", 1),
                                 "Out", net_.UniqueName("product"));
  }

  void AddLayer() {
    switch (random_.Below(6)) {
      case 0:
        current_ = Activation(net_, current_, random_.OneIn(2) ? "tanh" : "sigmoid");
        break;
      case 1:
        current_ = Product(current_);
        break;
      case 2:
        if (!earlier_.empty()) current_ = Add(net_, current_, random_.OneOf(earlier_));
        break;
      default:
        AddMatch();
    }
    earlier_.push_back(current_);
  }

  // The ops of a pattern.
  void AddMatch() {
    if (!network_.patterns.empty() && random_.OneIn(2)) {
      return AddOps(random_.OneOf(network_.patterns), /*is_shipped=*/false);
    }
    const auto& family = kFamilies[random_.Below(std::size(kFamilies))];
    const std::vector<Pattern> patterns = Shipped(random_.OneIn(2) ? family.first : family.second);
    const Pattern& pattern = patterns[random_.Below(static_cast<int>(patterns.size()))];
    if (Fits(pattern)) AddOps(pattern, /*is_shipped=*/true);
  }

  void AddOps(const Pattern& pattern, bool is_shipped) {
    std::vector<std::string> names(pattern.values.size());
    for (size_t i = 0; i < names.size(); ++i) {
      const PatternValue& value = pattern.values[i];
      names[i] =
          is_shipped || value.kind != PatternValue::Kind::kCapture ? NameOf(value) : AnyOperand();
    }
    std::set<int> shapes;  // what gradient ops alone read
    for (const PatternOp& op : pattern.before) {
      OpBuilder builder = net_.New(op.type);
      for (const PatternSlot& slot : op.inputs) {
        for (const int value : slot.values) builder.Input(slot.name, names[value]);
      }
      for (const PatternSlot& slot : op.outputs) {
        for (const int value : slot.values) {
          builder.Output(slot.name, names[value]);
          if (slot.name == "XShape") shapes.insert(value);
        }
      }
      if (op.type == "layer_norm") {
        builder.Output("Mean", net_.UniqueName("mean"));
        builder.Output("Variance", net_.UniqueName("variance"));
      }
      for (const PatternAttribute& attribute : op.attributes) {
        builder.Attr(is_shipped || attribute.variable < 0
                         ? ValueOf(attribute)
                         : MakeFloatAttr(attribute.name, kFactorOfPatterns));
      }
      net_.Append(builder);
    }
    for (size_t i = 0; i < names.size(); ++i) {
      const PatternValue::Kind kind = pattern.values[i].kind;
      if (kind == PatternValue::Kind::kResult) current_ = names[i];
      const bool is_number = shapes.count(static_cast<int>(i)) == 0;
      if (kind == PatternValue::Kind::kInner && is_number && random_.OneIn(30)) {
        leaked_.push_back(names[i]);
      }
    }
  }

  // Whether it is about values of the network's rank, and has a gradient where one is needed.
  bool Fits(const Pattern& pattern) const {
    for (const PatternValue& value : pattern.values) {
      if (value.name == "x" && value.declared &&
          value.declared->type().lod_tensor().tensor().dims_size() != rank_) {
        return false;
      }
    }
    return std::none_of(pattern.before.begin(), pattern.before.end(), [this](const PatternOp& op) {
      return trains_ && (op.type == "fc" || op.type == "scaled_dot_product_attention");
    });
  }

  // What a value of a pattern is in the program; the built-in patterns name their captures alike.
  std::string NameOf(const PatternValue& value) {
    if (value.kind != PatternValue::Kind::kCapture) return net_.UniqueName("value");
    if (value.name == "x" || value.name == "q") return current_;
    if (value.name == "k" || value.name == "v") return Parameter(dims_);
    if (value.name == "mask") return Parameter({dims_[rank_ - 2], dims_[rank_ - 2]});
    return value.name == "w" ? Parameter({kWidth, kWidth}) : Parameter({kWidth});
  }

  // A tensor of the network's dims.
  std::string AnyOperand() {
    if (random_.OneIn(3)) return Parameter(dims_);
    return earlier_.empty() || random_.OneIn(2) ? current_ : random_.OneOf(earlier_);
  }

  OpDesc::Attr ValueOf(const PatternAttribute& attribute) const {
    if (attribute.variable < 0) return attribute.value;
    if (attribute.name == "bias" || attribute.name == "epsilon") {
      return MakeFloatAttr(attribute.name, 1e-3f);
    }
    const bool is_factor =
        attribute.name == "alpha" || attribute.name == "beta" || attribute.name == "scale";
    return is_factor ? MakeFloatAttr(attribute.name, 0.5f) : MakeIntAttr(attribute.name, rank_ - 1);
  }

  Random random_;
  const bool trains_;
  Network network_;
  ProgramBuilder net_;
  const int rank_;
  std::vector<int64_t> dims_;
  std::string current_;
  std::vector<std::string> earlier_;
  std::vector<std::string> leaked_;
};

// An element of a parameter that is another one than the startup program gives.
struct Shift {
  std::string parameter;
  int64_t element = 0;
  double by = 0;
};

void Apply(const Shift& shift, Scope* scope) {
  Tensor& tensor = std::get<Tensor>(*scope->FindOrNull(shift.parameter));
  if (tensor.dtype() == VarType::FP64) {
    tensor.mutable_data<double>()[shift.element] += shift.by;
  } else {
    tensor.mutable_data<float>()[shift.element] += static_cast<float>(shift.by);
  }
}

absl::StatusOr<std::vector<Tensor>> Results(const Program& program, const Program& startup,
                                            const std::vector<std::string>& fetches,
                                            const std::optional<Shift>& shift = std::nullopt) {
  reference::InterpreterOptions options;
  options.precision = reference::Precision::kDouble;
  Scope scope;
  ASSIGN_OR_RETURN(auto initializer, reference::Interpreter::Create(startup, &scope, options));
  RETURN_IF_ERROR(initializer.Run({}, {}, 0).status());
  if (shift) Apply(*shift, &scope);
  const Variable& x = *program.Find(program.block(0), "x");
  std::vector<int64_t> dims(x.tensor()->dims().begin(), x.tensor()->dims().end());
  ASSIGN_OR_RETURN(Tensor fed, Tensor::Allocate(VarType::FP32, dims));
  Random random(7);
  for (float& value : fed.mutable_data<float>()) value = (random.Below(2000) - 1000) / 700.0f;
  ASSIGN_OR_RETURN(auto interpreter, reference::Interpreter::Create(program, &scope, options));
  return interpreter.Run({{"x", &fed}}, fetches, 1);
}

double At(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == VarType::FP64 ? tensor.data<double>()[i] : tensor.data<float>()[i];
}

std::string Difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                       const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (a[i].dims() != b[i].dims()) return absl::StrCat(names[i], " has another shape");
    for (int64_t j = 0; j < a[i].size(); ++j) {
      const double was = At(a[i], j);
      const double is = At(b[i], j);
      if (std::isnan(was) && std::isnan(is)) continue;
      if (std::abs(was - is) <= kTolerance * std::max(1.0, std::abs(was))) continue;
      return absl::StrCat(names[i], "[", j, "] was ", was, " and is ", is);
    }
  }
  return "";
}

// The slope of the loss along a parameter's element, from both sides.
absl::StatusOr<double> Slope(const Network& network, const Program& program, Shift shift,
                             float by) {
  double loss[2];
  for (const int side : {0, 1}) {
    shift.by = side == 0 ? -by : by;
    ASSIGN_OR_RETURN(const std::vector<Tensor> found,
                     Results(program, network.startup, {network.loss}, shift));
    loss[side] = At(found[0], 0);
  }
  return (loss[1] - loss[0]) / (2.0 * by);
}

// "" if a gradient of the program is what differences of its loss say, at a random element.
absl::StatusOr<std::string> GradientDifference(const Network& network, const Program& program,
                                               const std::vector<Tensor>& found, Random& random,
                                               RewriteOutcome* outcome) {
  constexpr double kOfDifferences = 1e-3;
  const auto alike = [](double a, double b) {
    return std::abs(a - b) <= kOfDifferences * std::max(1.0, std::abs(b));
  };
  outcome->has_gradients = !network.gradients.empty();
  if (!outcome->has_gradients) return "";
  const int i = random.Below(static_cast<int>(network.gradients.size()));
  const Tensor& gradient = found[1 + i];  // after the loss
  const Shift shift{network.gradients[i].parameter,
                    random.Below(static_cast<int>(gradient.size()))};
  ASSIGN_OR_RETURN(const double slope, Slope(network, program, shift, 1.0f / 1024));
  ASSIGN_OR_RETURN(const double nearby, Slope(network, program, shift, 1.0f / 4096));
  const double derived = At(gradient, shift.element);
  // Two that differ are on both sides of a kink.
  outcome->gradient_is_checked = alike(slope, nearby);
  if (!outcome->gradient_is_checked || alike(derived, nearby)) return "";
  return absl::StrCat(network.gradients[i].gradient, "[", shift.element, "] is ", derived,
                      " and differences give ", nearby);
}

absl::StatusOr<int> RunCompositePass(const std::string& pass, Program* program) {
  ASSIGN_OR_RETURN(PassTable passes, RewritePasses({}));
  RETURN_IF_ERROR(AddCompositePasses(&passes));
  RewriteOptions options;
  options.passes = &passes;
  options.pipeline = pass;
  ASSIGN_OR_RETURN(const RewriteReport report, Rewrite(program, {}, options));
  program->ClearEditLog();
  return static_cast<int>(report.replaced.size());
}

// Components compute the same, and become the same bytes again.
absl::Status CheckComposites(const Network& network, const std::vector<Tensor>& wanted) {
  Program program = network.program.Clone();
  ASSIGN_OR_RETURN(const int expanded, RunCompositePass("expand_composites", &program));
  ASSIGN_OR_RETURN(const std::vector<Tensor> found,
                   Results(program, network.startup, network.fetches));
  const std::string difference = Difference(wanted, found, network.fetches);
  if (!difference.empty()) return absl::InternalError(absl::StrCat("expanded: ", difference));
  ASSIGN_OR_RETURN(const int raised, RunCompositePass("raise_composites", &program));
  if (raised != expanded ||
      program.Proto().SerializeAsString() != network.program.Proto().SerializeAsString()) {
    return absl::InternalError(absl::StrCat("expanded ", expanded, " and raised ", raised, ":\n",
                                            PrintProgram(program.Proto())));
  }
  return absl::OkStatus();
}

// The program with so many other ops that what is around a match is a small part of it, so that
// patterns are tried again there alone.
Program WithOthers(const Program& program) {
  constexpr int kOthers = 2000;
  ProgramDesc desc = program.Proto();
  BlockDesc& block = *desc.mutable_blocks(0);
  for (int i = 0; i < kOthers; ++i) {
    *block.add_ops() = OpBuilder("sin").Input("X", "other").Output("Out", "other").Build();
  }
  return Program::Create(std::move(desc)).value();
}

// Rewrites by all patterns; by some that come after the first `shipped` if they undo each other.
absl::StatusOr<RewriteReport> RewriteByMost(Program* program, size_t shipped,
                                            std::vector<Pattern>* patterns) {
  const std::string original = program->Proto().SerializeAsString();
  for (;;) {
    absl::StatusOr<RewriteReport> report = Rewrite(program, *patterns);
    const bool may_be_endless = report.status().code() == absl::StatusCode::kFailedPrecondition;
    if (!may_be_endless || patterns->size() == shipped) return report;
    if (program->Proto().SerializeAsString() != original) {
      return absl::InternalError("endless patterns leave other bytes");
    }
    patterns->pop_back();
  }
}

absl::Status Check(uint64_t seed, std::string* text, RewriteOutcome* outcome) {
  ASSIGN_OR_RETURN(Network network, NetworkWriter(seed).Write());
  Program& program = network.program;
  program.ForgetEdits();
  *text = PrintProgram(program.Proto());
  ASSIGN_OR_RETURN(const std::vector<Tensor> before,
                   Results(program, network.startup, network.fetches));
  Random random(seed + 1);
  std::vector<Pattern> patterns;
  for (const auto& [one, other] : kFamilies) {
    for (Pattern& pattern : Shipped(random.OneIn(2) ? one : other)) {
      patterns.push_back(std::move(pattern));
    }
  }
  const size_t shipped = patterns.size();
  patterns.insert(patterns.end(), network.patterns.begin(), network.patterns.end());
  const std::string original = program.Proto().SerializeAsString();
  Program large = WithOthers(program);
  ASSIGN_OR_RETURN(const RewriteReport report, RewriteByMost(&program, shipped, &patterns));
  outcome->replaced = static_cast<int>(report.replaced.size());
  for (const ReplacedMatch& replaced : report.replaced) {
    outcome->replaced_with_gradients += replaced.gradient_ops_before > 0;
  }
  const auto broken = [](const auto&... what) {
    return absl::InternalError(absl::StrCat(what...));
  };
  for (const Finding& finding : Verify(program)) {
    if (finding.severity == Severity::kError) return broken("rewrites: ", finding.message);
  }
  Program explained = large.Clone();
  RewriteOptions explain;
  explain.explain = true;
  RETURN_IF_ERROR(Rewrite(&explained, patterns, explain).status());
  RETURN_IF_ERROR(Rewrite(&large, patterns).status());
  if (explained.Proto().SerializeAsString() != large.Proto().SerializeAsString()) {
    return broken("explained: other bytes:\n", PrintProgram(large.Proto()));
  }
  ASSIGN_OR_RETURN(const std::vector<Tensor> after,
                   Results(program, network.startup, network.fetches));
  const std::string difference = Difference(before, after, network.fetches);
  if (!difference.empty()) {
    return broken("same: ", difference, "\nrewritten:\n", PrintProgram(program.Proto()));
  }
  ASSIGN_OR_RETURN(const std::string of_gradient,
                   GradientDifference(network, program, after, random, outcome));
  if (!of_gradient.empty()) {
    return broken("gradients: ", of_gradient, "\nrewritten:\n", PrintProgram(program.Proto()));
  }
  Program again = program.Clone();
  ASSIGN_OR_RETURN(const RewriteReport more, Rewrite(&again, patterns));
  if (!more.replaced.empty()) return broken("again: ", more.replaced[0].pattern, " matches");
  if (program.Proto().has_edit_log()) RETURN_IF_ERROR(Untranspile(&program));
  if (program.Proto().SerializeAsString() != original) return broken("undo: other bytes");
  return CheckComposites(network, before);
}

}  // namespace

RewriteOutcome RewriteOfSeed(uint64_t seed) {
  RewriteOutcome outcome;
  std::string text;
  const absl::Status status = Check(seed, &text, &outcome);
  if (!status.ok()) {
    outcome.report =
        absl::StrCat("seed ", seed, ": ", std::string(status.message()), "\nprogram:\n", text);
  }
  return outcome;
}

}  // namespace fixpoint
