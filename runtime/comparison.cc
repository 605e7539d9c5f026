#include "runtime/comparison.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/code_dtype.h"
#include "ops/code_ops.h"
#include "ops/dims.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/feeds_and_fetches.h"
#include "runtime/fetching_runs.h"
#include "runtime/kept_state.h"

namespace fixpoint {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsOneNumber(const Tensor& tensor) { return tensor.size() == 1 && tensor.dims().size() <= 1; }

// A single number is [1] or [], by the release and by whether its variable declares dimensions.
bool HaveSameDims(const Tensor& tensor, const Tensor& other) {
  return tensor.dims() == other.dims() || (IsOneNumber(tensor) && IsOneNumber(other));
}

// The place of a float on the line on which neighbours are 1 apart; both zeros have one.
template <typename Bits, typename T>
int64_t Place(T value) {
  static_assert(sizeof(Bits) == sizeof(T));
  Bits bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits < 0 ? int64_t{std::numeric_limits<Bits>::min()} - bits : bits;
}

template <typename T>
double UlpsBetween(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const auto [least, most] = std::minmax({Place<Bits>(a), Place<Bits>(b)});
  return static_cast<double>(static_cast<uint64_t>(most) - static_cast<uint64_t>(least));
}

// REQUIRES: they are not equal.
template <typename T>
double DifferenceOf(T a, T b, DifferenceUnit unit) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return kInfinity;
    if (unit == DifferenceUnit::kUlps) return UlpsBetween(a, b);
  }
  return std::abs(static_cast<double>(a) - static_cast<double>(b));
}

template <typename T>
void CompareElements(absl::Span<const T> values, absl::Span<const T> others, int64_t run,
                     ComparedVariable* compared) {
  compared->elements += static_cast<int64_t>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto other = static_cast<double>(others[i]);
    if (std::isfinite(other)) compared->signal += other * other;
    if (std::memcmp(&values[i], &others[i], sizeof(T)) == 0) continue;
    if (values[i] == others[i]) {
      ++compared->other_zeros;
      continue;
    }
    const auto value = static_cast<double>(values[i]);
    ++compared->different;
    if (!compared->first) compared->first = {run, static_cast<int64_t>(i), value, other};
    compared->largest =
        std::max(compared->largest, DifferenceOf(values[i], others[i], compared->unit));
    const double noise = value - other;
    compared->largest_as_number =
        std::max(compared->largest_as_number, std::isnan(noise) ? kInfinity : std::fabs(noise));
    compared->noise += std::isfinite(noise) ? noise * noise : kInfinity;
  }
}

// A code, held as an integer or as a float.
double CodeAt(const Tensor& codes, int64_t i) {
  if (codes.dtype() == VarType::FP32) return codes.data<float>()[i];
  if (IsWideCodeDtype(codes.dtype())) return codes.data<int16_t>()[i];
  return IsUnsignedDtype(codes.dtype()) ? codes.data<uint8_t>()[i] : codes.data<int8_t>()[i];
}

// Whether tensors of a type may hold codes.
bool HoldsCodes(VarType::Type dtype) { return IsCodeDtype(dtype) || IsWideCodeDtype(dtype); }

// Codes as the floats in which a simulation holds them.
Tensor AsNumbers(const Tensor& codes) {
  Tensor numbers = *Tensor::Allocate(VarType::FP32, codes.dims());
  const auto to = numbers.mutable_data<float>();
  for (int64_t i = 0; i < codes.size(); ++i) {
    to[i] = static_cast<float>(CodeAt(codes, i));
  }
  return numbers;
}

std::string Described(const Tensor& tensor) {
  return absl::StrCat(VarType::Type_Name(tensor.dtype()), " ", DimsText(tensor.dims()));
}

// Whether an op writes floats that stand for codes.
bool WritesCodes(const Op& op) {
  const OpSchema* schema = FindOpSchema(op.type());
  return schema != nullptr && schema->quant_op() == QuantOp::kQuantize;
}

// The variables that ops write, in order, each once.
std::vector<ComparedVariable> WrittenVariables(const Program& program) {
  std::vector<ComparedVariable> written;
  for (const WrittenTensor& tensor : WrittenTensors(program)) {
    ComparedVariable& variable = written.emplace_back();
    variable.name = tensor.name;
    if (WritesCodes(*tensor.op)) variable.unit = DifferenceUnit::kSteps;
  }
  return written;
}

WhyLeftOut WhyNeverCompared(const Variable& variable) {
  if (variable.persistable()) return WhyLeftOut::kPersistable;
  const bool is_tensor = variable.desc()->type().type() == VarType::LOD_TENSOR;
  return is_tensor ? WhyLeftOut::kNotWritten : WhyLeftOut::kNoTensor;
}

// Adds what ops of block 0 of any of the programs name as outputs that is none of the `tensors`
// that they write.
void AddNeverCompared(std::initializer_list<const Program*> programs,
                      const absl::flat_hash_set<std::string>& tensors,
                      std::vector<VariableLeftOut>* left_out) {
  absl::flat_hash_set<absl::string_view> seen;
  for (const Program* program : programs) {
    for (const Op& op : program->block(0).ops()) {
      if (IsFeedOrFetch(op)) continue;
      for (const Argument* output : op.outputs()) {
        const Variable* variable = output->variable();
        if (variable == nullptr || variable->desc() == nullptr) continue;
        if (tensors.contains(variable->name()) || !seen.insert(variable->name()).second) continue;
        left_out->push_back({variable->name(), WhyNeverCompared(*variable)});
      }
    }
  }
}

absl::StatusOr<std::vector<Tensor>> RunOn(const RunnableProgram& runnable,
                                          absl::Span<const Feed> feeds,
                                          absl::Span<const std::string> names) {
  std::vector<Feed> declared;
  for (const Feed& feed : feeds) {
    if (runnable.program->Find(runnable.program->block(0), feed.name) != nullptr) {
      declared.push_back(feed);
    }
  }
  auto fetched = runnable.backend->Run(declared, names, /*step=*/0);
  if (fetched.ok()) return fetched;
  return AtPlace(runnable.program->name(), fetched.status());
}

// The runs of a program on one set of inputs. Each starts from the state that the first started
// from, so that the last one leaves what a single run would.
class RunsFromOneState {
 public:
  static absl::StatusOr<RunsFromOneState> Of(const RunnableProgram& runnable) {
    ASSIGN_OR_RETURN(KeptState state, KeptState::Of(*runnable.program, *runnable.scope));
    return RunsFromOneState(runnable, std::move(state));
  }

  // Passes on what each of `names` holds, with its index; `runs` has the run in which it is
  // fetched.
  absl::Status Fetch(absl::Span<const Feed> feeds, const std::vector<std::string>& names,
                     const std::vector<int>& runs,
                     const std::function<absl::Status(size_t, Tensor)>& take) const {
    for (int run = 0; run < kFetchingRuns; ++run) {
      std::vector<size_t> indices;
      std::vector<std::string> fetches;
      for (size_t i = 0; i < names.size(); ++i) {
        if (runs[i] != run) continue;
        indices.push_back(i);
        fetches.push_back(names[i]);
      }
      if (fetches.empty()) continue;
      RETURN_IF_ERROR(state_.Restore(runnable_.scope));
      ASSIGN_OR_RETURN(std::vector<Tensor> fetched, RunOn(runnable_, feeds, fetches));
      for (size_t i = 0; i < fetched.size(); ++i) {
        RETURN_IF_ERROR(take(indices[i], std::move(fetched[i])));
      }
    }
    return absl::OkStatus();
  }

 private:
  RunsFromOneState(const RunnableProgram& runnable, KeptState state)
      : runnable_(runnable), state_(std::move(state)) {}

  const RunnableProgram& runnable_;
  KeptState state_;
};

// The codes nearest to floats.
template <typename Code>
Tensor AsCodes(const Tensor& numbers) {
  std::vector<Code> codes;
  for (const float number : numbers.data<float>()) {
    const float code = std::clamp<float>(number, std::numeric_limits<Code>::min(),
                                         std::numeric_limits<Code>::max());
    codes.push_back(std::isnan(number) ? 0 : static_cast<Code>(code));
  }
  return Tensor::FromValues<Code>(numbers.dims(), codes);
}

// A value of one program, converted to the type that the other program declares.
absl::StatusOr<Tensor> AsDeclared(const Tensor& tensor, const Variable& variable) {
  const VarType::Type declared = variable.tensor()->data_type();
  if (tensor.dtype() == VarType::FP32 && HoldsCodes(declared)) {
    if (IsWideCodeDtype(declared)) return AsCodes<int16_t>(tensor);
    return IsUnsignedDtype(declared) ? AsCodes<uint8_t>(tensor) : AsCodes<int8_t>(tensor);
  }
  if (HoldsCodes(tensor.dtype()) && declared == VarType::FP32) return AsNumbers(tensor);
  return tensor.Clone();
}

// The step to codes, of a portable program, that writes a variable and reads its scale; nothing if
// there is none.
std::optional<CodeOp> FindRounding(const Program& program, const std::string& name) {
  const Variable* const variable = program.Find(program.block(0), name);
  if (variable == nullptr || variable->values().size() != 1) return std::nullopt;
  const Op* const op = variable->values().front()->op();
  if (op == nullptr || !IsStepOfPortable(*op)) return std::nullopt;
  std::optional<CodeOp> read = ReadCodeOp(*op, EraOf(program));
  if (!read || read->kind != QuantOp::kQuantize || read->scale == nullptr) return std::nullopt;
  return read;
}

// What is found for each variable, once it is fetched.
using Tensors = std::vector<std::optional<Tensor>>;

// Codes that differ, and the ops that may have rounded them.
struct RoundedCodes {
  size_t variable;
  CodeOp rounding;
  Tensor codes;
};

// How many codes differ by one step, where `rounding` rounds a value half-way between two.
int64_t CountTies(const CodeOp& rounding, const Tensor& x, const Tensor& range, const Tensor& codes,
                  const Tensor& others) {
  if (x.dtype() != VarType::FP32 || range.dtype() != VarType::FP32 || range.size() != 1) return 0;
  const float number = range.data<float>()[0];
  const float multiplier = rounding.scales_are_steps
                               ? 1 / number
                               : static_cast<float>(rounding.codes.largest) * InverseRange(number);
  int64_t ties = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    const float scaled = x.data<float>()[i] * multiplier;
    const bool is_tie = scaled - std::floor(scaled) == 0.5f;
    ties += is_tie && std::abs(CodeAt(codes, i) - CodeAt(others, i)) == 1;
  }
  return ties;
}

// Adds the ties of codes that a program rounds. `runs`: in which run each variable is fetched.
absl::Status AddTies(const RunsFromOneState& program, absl::Span<const Feed> feeds,
                     const std::vector<int>& runs, const std::vector<RoundedCodes>& rounded,
                     const Tensors& others, std::vector<ComparedVariable>* variables) {
  // The names of each rounded value and of its range.
  std::vector<std::string> names;
  std::vector<int> runs_of_names;
  for (const RoundedCodes& codes : rounded) {
    for (const Argument* input : {codes.rounding.input, codes.rounding.scale}) {
      names.emplace_back(input->name());
      runs_of_names.push_back(runs[codes.variable]);
    }
  }
  std::optional<Tensor> x;
  return program.Fetch(feeds, names, runs_of_names, [&](size_t i, Tensor tensor) {
    const RoundedCodes& codes = rounded[i / 2];
    if (i % 2 == 0) {
      x = std::move(tensor);
    } else {
      (*variables)[codes.variable].ties +=
          CountTies(codes.rounding, *x, tensor, codes.codes, *others[codes.variable]);
    }
    return absl::OkStatus();
  });
}

std::vector<std::string> NamesOf(const std::vector<ComparedVariable>& variables) {
  std::vector<std::string> names;
  for (const ComparedVariable& variable : variables) names.push_back(variable.name);
  return names;
}

std::vector<int> RunsOf(const RunnableProgram& runnable, const std::vector<std::string>& names) {
  if (runnable.in_one_run) return std::vector<int>(names.size(), 0);
  return FetchingRunsOf(*runnable.program, names);
}

}  // namespace

double ComparedVariable::SignalToNoise() const {
  return noise == 0 ? kInfinity : 10 * std::log10(signal / noise);
}

absl::Status CompareTensors(const Tensor& tensor, const Tensor& other, int64_t run,
                            ComparedVariable* compared) {
  const bool same_type = tensor.dtype() == other.dtype();
  const bool codes = (HoldsCodes(tensor.dtype()) && other.dtype() == VarType::FP32) ||
                     (HoldsCodes(other.dtype()) && tensor.dtype() == VarType::FP32);
  if (!HaveSameDims(tensor, other) || !(same_type || codes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ", Described(tensor), " in one program and ", Described(other),
                     " in the other; want the same dimensions, and the same type or codes and "
                     "FP32"));
  }
  if (codes) {
    compared->unit = DifferenceUnit::kSteps;
    const Tensor numbers = AsNumbers(HoldsCodes(tensor.dtype()) ? tensor : other);
    CompareElements<float>(
        HoldsCodes(tensor.dtype()) ? numbers.data<float>() : tensor.data<float>(),
        HoldsCodes(other.dtype()) ? numbers.data<float>() : other.data<float>(), run, compared);
    return absl::OkStatus();
  }
  const auto compare = [&](auto type) {
    using T = decltype(type);
    if (!std::is_floating_point_v<T>) compared->unit = DifferenceUnit::kSteps;
    CompareElements<T>(tensor.data<T>(), other.data<T>(), run, compared);
    return absl::OkStatus();
  };
  switch (tensor.dtype()) {
    case VarType::BOOL:
      return compare(bool{});
    case VarType::INT8:
      return compare(int8_t{});
    case VarType::UINT8:
      return compare(uint8_t{});
    case VarType::INT16:
      return compare(int16_t{});
    case VarType::INT32:
      return compare(int32_t{});
    case VarType::INT64:
      return compare(int64_t{});
    case VarType::FP32:
      return compare(float{});
    case VarType::FP64:
      return compare(double{});
    default:
      return absl::UnimplementedError(
          absl::StrCat("is ", Described(tensor), "; want BOOL, integers, FP32 or FP64"));
  }
}

absl::StatusOr<Comparison> Comparison::Create(const RunnableProgram& program,
                                              const RunnableProgram& other) {
  const std::vector<WrittenTensor> written_by_other = WrittenTensors(*other.program);
  absl::flat_hash_set<std::string> others;
  for (const WrittenTensor& tensor : written_by_other) others.insert(tensor.name);
  absl::flat_hash_set<std::string> tensors = others;
  std::vector<ComparedVariable> variables;
  std::vector<VariableLeftOut> left_out;
  for (ComparedVariable& variable : WrittenVariables(*program.program)) {
    tensors.insert(variable.name);
    if (others.erase(variable.name) > 0) {
      variables.push_back(std::move(variable));
    } else {
      left_out.push_back({std::move(variable.name), WhyLeftOut::kOnlyInProgram});
    }
  }
  for (const WrittenTensor& tensor : written_by_other) {
    if (others.contains(tensor.name)) left_out.push_back({tensor.name, WhyLeftOut::kOnlyInOther});
  }
  AddNeverCompared({program.program, other.program}, tensors, &left_out);
  if (variables.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no tensor is written under the same name in ", program.program->name(),
                     " and ", other.program->name(), "; want two forms of one program"));
  }
  const std::vector<std::string> names = NamesOf(variables);
  return Comparison({program, RunsOf(program, names)}, {other, RunsOf(other, names)},
                    std::move(variables), std::move(left_out));
}

absl::StatusOr<std::vector<Tensor>> Comparison::TensorsToGive(const Tensors& others) const {
  std::vector<Tensor> given;
  if (program_.runnable.given.empty()) return given;
  absl::flat_hash_map<absl::string_view, size_t> indices;
  for (size_t i = 0; i < variables_.size(); ++i) indices[variables_[i].name] = i;
  const Program& program = *program_.runnable.program;
  for (const GivenTensor& tensor : program_.runnable.given) {
    const auto at = indices.find(tensor.name);
    CHECK(at != indices.end()) << tensor.name << " is not a tensor of both programs";
    const Variable& variable = *program.Find(program.block(0), tensor.given_as);
    ASSIGN_OR_RETURN(Tensor value, AsDeclared(*others[at->second], variable));
    given.push_back(std::move(value));
  }
  return given;
}

absl::Status Comparison::Run(absl::Span<const Feed> feeds) {
  const RunnableProgram& program = program_.runnable;
  const RunnableProgram& other = other_.runnable;
  ASSIGN_OR_RETURN(const RunsFromOneState runs, RunsFromOneState::Of(program));
  ASSIGN_OR_RETURN(const RunsFromOneState other_runs, RunsFromOneState::Of(other));
  const std::vector<std::string> names = NamesOf(variables_);
  Tensors others(names.size());
  RETURN_IF_ERROR(other_runs.Fetch(feeds, names, other_.runs, [&](size_t i, Tensor tensor) {
    others[i] = std::move(tensor);
    return absl::OkStatus();
  }));

  ASSIGN_OR_RETURN(const std::vector<Tensor> given, TensorsToGive(others));
  std::vector<Feed> all_feeds(feeds.begin(), feeds.end());
  for (size_t i = 0; i < given.size(); ++i) {
    all_feeds.push_back({program.given[i].given_as, &given[i]});
  }
  std::vector<RoundedCodes> rounded;
  std::vector<RoundedCodes> rounded_by_other;
  const auto compare = [&](size_t i, Tensor tensor) -> absl::Status {
    ComparedVariable& variable = variables_[i];
    const int64_t different_before = variable.different;
    const absl::Status status = CompareTensors(tensor, *others[i], runs_, &variable);
    if (!status.ok()) {
      return AtPlace(absl::StrCat(program.program->name(), " and ", other.program->name(), ": \"",
                                  variable.name, "\""),
                     status);
    }
    const bool may_be_ties =
        variable.different > different_before && variable.unit == DifferenceUnit::kSteps;
    if (!may_be_ties) return absl::OkStatus();
    if (const auto by_other = FindRounding(*other.program, variable.name)) {
      rounded_by_other.push_back({i, *by_other, std::move(tensor)});
    } else if (program.given.empty()) {
      const auto rounding = FindRounding(*program.program, variable.name);
      if (rounding) rounded.push_back({i, *rounding, std::move(tensor)});
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(runs.Fetch(all_feeds, names, program_.runs, compare));
  RETURN_IF_ERROR(AddTies(other_runs, feeds, other_.runs, rounded_by_other, others, &variables_));
  RETURN_IF_ERROR(AddTies(runs, feeds, program_.runs, rounded, others, &variables_));
  ++runs_;
  return absl::OkStatus();
}

int64_t Comparison::SumOf(int64_t ComparedVariable::*count) const {
  int64_t sum = 0;
  for (const ComparedVariable& variable : variables_) sum += variable.*count;
  return sum;
}

const ComparedVariable* Comparison::FirstThatDiffers() const {
  const auto first =
      std::find_if(variables_.begin(), variables_.end(),
                   [](const ComparedVariable& variable) { return variable.different > 0; });
  return first == variables_.end() ? nullptr : &*first;
}

}  // namespace fixpoint
