#include "tests/random/programs/network.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "tests/random/generators/activation.h"
#include "tests/random/generators/windows.h"

namespace fixpoint::random_cases {
namespace {

// The most elements of a value that windows slide over.
constexpr int64_t kLargestImages = 8192;
// The most elements of a row to which an encoder adds.
constexpr int64_t kWidestStream = 64;
// The most elements of a row that is flattened for a product.
constexpr int64_t kLongestRow = 1500;

struct Value {
  std::string name;
  Dims declared;  // as the program has them: the first one may be -1
  Dims dims;

  int rank() const { return static_cast<int>(dims.size()); }
  bool is_images() const { return rank() == 4 && SizeOf(dims) <= kLargestImages; }
};

int64_t Product(const Dims& dims, size_t first) {
  return SizeOf(Dims(dims.begin() + static_cast<int64_t>(first), dims.end()));
}

class Writer {
 public:
  Writer(CaseMaker& c, bool is_trained) : c_(c), is_trained_(is_trained) {}

  RandomNetwork Write() {
    RandomNetwork network;
    const Value fed = DrawFed();
    network.fed = fed.name;
    network.fed_dims = fed.dims;
    AddProduct(fed);
    for (int left = c_.Between(0, 8); left > 0; --left) AddSomething();
    for (size_t i = 1; i < values_.size(); ++i) {
      if (c_.OneIn(8)) network.fetches.push_back(values_[i].name);
    }
    return network;
  }

 private:
  Value DrawFed() {
    const int extent = c_.OneIn(3) ? c_.OneOf({7, 8, 14, 16}) : c_.Between(1, 10);
    const int images = c_.Between(1, 3);
    const int channels = c_.OneIn(2) ? c_.OneOf({1, 3, 8, 16, 32}) : c_.Between(1, 20);
    Value fed = {"x", {}, {images, channels}};
    if (!c_.OneIn(5)) {
      fed.dims = {images, channels, extent, c_.OneIn(2) ? extent : c_.Between(1, 10)};
    } else if (c_.OneIn(2)) {
      fed.dims = {images, c_.Between(1, 6), channels};
    }
    fed.declared = fed.dims;
    if (!c_.OneIn(3)) fed.declared[0] = -1;
    if (c_.OneIn(3)) LeaveSizeOpen(&fed);
    c_.Declare(fed.name, " f32", DimsList(fed.declared), " need_check_feed stop_gradient");
    values_.push_back(fed);
    return fed;
  }

  // Images of any size, or sequences of any length.
  static void LeaveSizeOpen(Value* fed) {
    if (fed->rank() == 4) fed->declared[2] = fed->declared[3] = -1;
    if (fed->rank() == 3) fed->declared[1] = -1;
  }

  // The last value in half of the cases.
  template <typename Wanted>
  std::optional<Value> Some(Wanted wanted) {
    if (wanted(values_.back()) && c_.OneIn(2)) return values_.back();
    std::vector<Value> found;
    for (const Value& value : values_) {
      if (wanted(value)) found.push_back(value);
    }
    if (found.empty()) return std::nullopt;
    return c_.OneOf(found);
  }
  Value SomeValue() {
    return *Some([](const Value&) { return true; });
  }
  // A value of the same dimensions: itself where there is no other.
  Value Partner(const Value& value) {
    return *Some([&](const Value& other) { return other.dims == value.dims; });
  }

  std::string Parameter(const Dims& dims, float low, float high) {
    std::string name = c_.Numbers(dims, low, high);
    c_.Persist(name);
    return name;
  }
  // Scaled so that a sum over `taps` products is usually of the order of the other operand.
  std::string Weight(const Dims& dims, int64_t taps) {
    if (!c_.OneIn(4)) {
      const float largest = 2 / std::sqrt(static_cast<float>(taps));
      return Parameter(dims, -largest, largest);
    }
    std::string name = c_.Numbers(dims);
    c_.Persist(name);
    return name;
  }

  Dims InferDims(const std::string& op, Dims Value::*dims) const {
    std::vector<std::pair<std::string, Dims>> known;
    for (const Value& value : values_) known.emplace_back(value.name, value.*dims);
    return c_.OutputDims(op, known);
  }
  // Appends "type(inputs) -> (slot=v7) {attributes}".
  Value Append(const std::string& type, const std::string& inputs, const std::string& attributes,
               const std::string& slot = "Out", const std::string& other_outputs = "") {
    const std::string op = absl::StrCat(type, "(", inputs, ") -> (", slot, "=", NextName(),
                                        other_outputs, ") {", attributes, "}");
    return AppendOf(op, InferDims(op, &Value::declared), InferDims(op, &Value::dims));
  }
  std::string NextName() const { return absl::StrCat("v", values_.size()); }
  // The same for an op that writes NextName().
  Value AppendOf(const std::string& op, const Dims& declared, const Dims& dims) {
    const Value value = {NextName(), declared, dims};
    c_.Declare(value.name, " f32", DimsList(value.declared));
    c_.Op(op);
    values_.push_back(value);
    return value;
  }
  // The same for an op of 2.x that records the dimensions of its input.
  Value AppendWithShape(const std::string& type, const Value& x, const std::string& attributes) {
    const std::string shape = absl::StrCat("v", values_.size(), ".shape");
    Dims dims = x.declared;
    dims.insert(dims.begin(), 0);
    c_.Declare(shape, " f32", DimsList(dims));
    return Append(type, absl::StrCat("X=", x.name), attributes, "Out",
                  absl::StrCat(", XShape=", shape));
  }
  Value Sum(const Value& x, const Value& y) {
    return Append("elementwise_add", absl::StrCat("X=", x.name, ", Y=", y.name), "axis=-1");
  }

  Value Convolve(const Value& x) {
    ConvolutionOptions options;
    options.is_depthwise = c_.OneIn(3);
    options.may_be_channels_last = false;
    options.input = x.dims;
    if (c_.OneIn(4)) options.direction = Direction::kTransposed;
    const SomeConvolution drawn = DrawConvolution(c_, options);
    const bool is_transposed = options.direction == Direction::kTransposed;
    const std::string type = absl::StrCat(options.is_depthwise && c_.OneIn(2) ? "depthwise_" : "",
                                          is_transposed ? "conv2d_transpose" : "conv2d");
    std::string inputs =
        absl::StrCat("Input=", x.name, ", Filter=", Weight(drawn.filter, drawn.taps));
    std::string attributes = drawn.attributes;
    if (!is_trained_ && type == "conv2d" && c_.OneIn(12)) {
      absl::StrAppend(&inputs, ", Bias=", Parameter({drawn.filters}, -1, 1));
      absl::StrAppend(&attributes, ", fuse_relu=", BoolText(c_.OneIn(2)));
    }
    return Append(type, inputs, attributes, "Output");
  }

  // A convolution that keeps the dimensions.
  Value ConvolveAlike(const Value& x) {
    const int64_t channels = x.dims[1];
    const bool is_depthwise = c_.OneIn(3);
    const int window = c_.OneOf({1, 3});
    const int64_t in_group = is_depthwise ? 1 : channels;
    const char* const type = is_depthwise && c_.OneIn(2) ? "depthwise_conv2d" : "conv2d";
    const std::string filter =
        Weight({channels, in_group, window, window}, in_group * window * window);
    return Append(type, absl::StrCat("Input=", x.name, ", Filter=", filter),
                  absl::StrCat("paddings=[", window / 2, ", ", window / 2,
                               "], groups=", is_depthwise ? channels : 1),
                  "Output");
  }

  // What is flattened before it, or the last axis, times a matrix.
  Value Multiply(const Value& x) {
    const int rows = c_.OneIn(2) ? 1 : c_.Between(1, x.rank() - 1);
    const int columns = c_.OneIn(3) ? c_.OneOf({1, 16, 32, 64}) : c_.Between(1, 20);
    const int64_t row = Product(x.dims, rows);
    const int kind = c_.Between(0, 3);
    if (kind == 0 && !is_trained_ && row <= kLongestRow) {
      std::string inputs = absl::StrCat("Input=", x.name, ", W=", Weight({row, columns}, row));
      if (!c_.OneIn(3)) absl::StrAppend(&inputs, ", Bias=", Parameter({columns}, -1, 1));
      const char* const activation = c_.OneIn(3) ? ", activation_type=\"relu\"" : "";
      return Append("fc", inputs, absl::StrCat("in_num_col_dims=", rows, activation));
    }
    if (kind <= 1 && row <= kLongestRow) {
      return Append("mul", absl::StrCat("X=", x.name, ", Y=", Weight({row, columns}, row)),
                    absl::StrCat("x_num_col_dims=", rows, ", y_num_col_dims=1"));
    }
    const bool is_v2 = c_.is_2x() && c_.OneIn(2);
    const bool turns_x = x.rank() > 2 && c_.OneIn(4);
    const bool turns_y = c_.OneIn(3);
    const int64_t inner = x.dims[x.rank() - (turns_x ? 2 : 1)];
    const Dims dims = turns_y ? Dims{columns, inner} : Dims{inner, columns};
    const std::string weight = Weight(dims, inner);
    return Append(is_v2 ? "matmul_v2" : "matmul", absl::StrCat("X=", x.name, ", Y=", weight),
                  MatmulAttributes(is_v2, turns_x, turns_y));
  }
  std::string MatmulAttributes(bool is_v2, bool turns_x, bool turns_y) {
    std::string attributes =
        absl::StrCat(is_v2 ? "trans_x=" : "transpose_X=", BoolText(turns_x),
                     is_v2 ? ", trans_y=" : ", transpose_Y=", BoolText(turns_y));
    if (!is_v2 && c_.OneIn(3)) {
      absl::StrAppend(&attributes, ", alpha=", FloatText(c_.Between(0.1f, 3.0f)));
    }
    return attributes;
  }

  // Similarities of the rows of two values.
  void AddProductOfValues() {
    const auto x = Some([](const Value& value) { return value.rank() > 2; });
    if (!x) return AddProduct(SomeValue());
    const bool is_v2 = c_.is_2x() && c_.OneIn(2);
    const Value y = Partner(*x);
    Append(is_v2 ? "matmul_v2" : "matmul", absl::StrCat("X=", x->name, ", Y=", y.name),
           MatmulAttributes(is_v2, /*turns_x=*/false, /*turns_y=*/true));
  }

  void AddProduct(const Value& x) {
    const bool convolves = x.is_images() && !c_.OneIn(4);
    const Value product = convolves ? Convolve(x) : Multiply(x);
    AddAfterProduct(product, convolves ? 1 : product.rank() - 1);
  }
  void AddAfterProduct(Value value, int channel_axis) {
    if (c_.OneIn(2)) value = AddBias(value, channel_axis);
    if (channel_axis == 1 && c_.OneIn(3)) value = Normalize(value);
    if (c_.OneIn(4)) {
      const Value other = Partner(value);
      value = c_.OneIn(2) ? Sum(value, other) : Sum(other, value);
    }
    if (c_.OneIn(2)) Activate(value);
    if (channel_axis == 1 && c_.OneIn(6)) Normalize(values_.back());
  }
  Value AddBias(const Value& x, int channel_axis) {
    const bool is_last = channel_axis == x.rank() - 1;
    const std::string bias = Parameter({x.dims[channel_axis]}, -1, 1);
    return Append("elementwise_add", absl::StrCat("X=", x.name, ", Y=", bias),
                  absl::StrCat("axis=", is_last && c_.OneIn(2) ? -1 : channel_axis));
  }

  void AddResidualBlock() {
    const auto x = Some([](const Value& value) { return value.is_images(); });
    if (!x) return AddProduct(SomeValue());
    Value branch = ConvolveAlike(*x);
    if (c_.OneIn(2)) branch = AddBias(branch, 1);
    if (c_.OneIn(2)) branch = Normalize(branch);
    const Value sum = c_.OneIn(2) ? Sum(branch, *x) : Sum(*x, branch);
    if (c_.OneIn(2)) Activate(sum);
  }

  // What the blocks of an encoder add to goes through a layer norm and a product.
  void AddEncoderBlock() {
    const auto x = Some([](const Value& value) { return value.dims.back() <= kWidestStream; });
    if (!x) return AddProduct(SomeValue());
    const int64_t width = x->dims.back();
    const Value normalized = NormalizeRows(*x);
    Value branch =
        Append("mul", absl::StrCat("X=", normalized.name, ", Y=", Weight({width, width}, width)),
               absl::StrCat("x_num_col_dims=", x->rank() - 1, ", y_num_col_dims=1"));
    if (c_.OneIn(2)) branch = AddBias(branch, branch.rank() - 1);
    const Value sum = c_.OneIn(2) ? Sum(branch, *x) : Sum(*x, branch);
    if (c_.OneIn(2)) NormalizeRows(sum);
  }

  Value NormalizeRows(const Value& x) {
    const int64_t width = x.dims.back();
    const std::string scale = Parameter({width}, -2, 2);
    const std::string bias = Parameter({width}, -1, 1);
    const std::string statistics = absl::StrCat("v", values_.size(), ".row_");
    c_.Declare(statistics, "mean f32", DimsList({-1}));
    c_.Declare(statistics, "variance f32", DimsList({-1}));
    return Append("layer_norm", absl::StrCat("X=", x.name, ", Scale=", scale, ", Bias=", bias),
                  absl::StrCat("begin_norm_axis=", x.rank() - 1), "Y",
                  absl::StrCat(", Mean=", statistics, "mean, Variance=", statistics, "variance"));
  }

  Value Normalize(const Value& x) {
    const Dims channels = {x.dims[1]};
    const std::string scale = Parameter(channels, -2, 2);
    const std::string bias = Parameter(channels, -1, 1);
    const std::string mean = Parameter(channels, -1, 1);
    const std::string variance = Parameter(channels, 0.1f, 2);
    const std::string saved = absl::StrCat("v", values_.size(), ".saved_");
    c_.Declare(saved, "mean f32", DimsList(channels));
    c_.Declare(saved, "variance f32", DimsList(channels));
    return Append("batch_norm",
                  absl::StrCat("X=", x.name, ", Scale=", scale, ", Bias=", bias, ", Mean=", mean,
                               ", Variance=", variance),
                  absl::StrCat("is_test=", BoolText(!is_trained_)), "Y",
                  absl::StrCat(", MeanOut=", mean, ", VarianceOut=", variance,
                               ", SavedMean=", saved, "mean, SavedVariance=", saved, "variance"));
  }

  void Activate(const Value& x) {
    const std::string type = c_.OneOf<std::string>(
        {"relu",       "relu",         "relu",       "relu",    "relu6",    "relu6", "leaky_relu",
         "leaky_relu", "hard_swish",   "hard_swish", "sigmoid", "sigmoid",  "tanh",  "swish",
         "gelu",       "hard_sigmoid", "elu",        "brelu",   "softplus", "abs",   "square"});
    std::string attributes = c_.OneIn(2) ? "" : SomeAttributes(c_, type);
    if (type == "leaky_relu" && c_.OneIn(4)) attributes = "alpha=0.0";
    Append(type, absl::StrCat("X=", x.name), attributes);
  }

  // A value times a gate of its shape or, as in squeeze-and-excitation, of its channels.
  void AddGate() {
    const Value x = SomeValue();
    Value gate = x;
    if (x.is_images() && !c_.OneIn(3)) {
      gate = Append("pool2d", absl::StrCat("X=", x.name),
                    "pooling_type=\"avg\", ksize=[1, 1], global_pooling=true");
      if (c_.OneIn(2)) gate = ConvolveAlike(gate);
    }
    gate = Append(c_.OneOf({"sigmoid", "hard_sigmoid", "tanh"}), absl::StrCat("X=", gate.name), "");
    const bool is_second = c_.OneIn(2) || (gate.dims != x.dims && !c_.is_2x());
    Append(
        "elementwise_mul",
        absl::StrCat("X=", is_second ? x.name : gate.name, ", Y=", is_second ? gate.name : x.name),
        "axis=-1");
  }

  void Pool() {
    const auto x = Some([](const Value& value) { return value.is_images(); });
    if (!x) return Activate(SomeValue());
    const SomePooling drawn = DrawPooling(c_, /*may_be_channels_last=*/false, x->dims);
    const char* const type = c_.OneIn(3) ? "max" : "avg";
    Append("pool2d", absl::StrCat("X=", x->name),
           absl::StrCat("pooling_type=\"", type, "\", ", drawn.attributes));
  }

  void Concatenate() {
    const Value first = SomeValue();
    const int axis = c_.Between(1, first.rank() - 1);
    const auto is_partner = [&](const Value& other) {
      Dims dims = other.dims;
      if (dims.size() == first.dims.size()) dims[axis] = first.dims[axis];
      return dims == first.dims;
    };
    std::string inputs = first.name;
    for (int more = c_.Between(1, 2); more > 0; --more) {
      absl::StrAppend(&inputs, ", ", Some(is_partner)->name);
    }
    Append("concat", absl::StrCat("X=[", inputs, "]"), absl::StrCat("axis=", axis));
  }

  // A value with a border, of zeros or of another number, which has no code of its own.
  void Pad(const Value& x) {
    const std::string value = c_.OneIn(4) ? "0.5" : "0.0";
    std::vector<int> paddings(x.is_images() ? 4 : 2 * x.rank());
    for (size_t i = x.is_images() ? 0 : 2; i < paddings.size(); ++i) {
      paddings[i] = c_.Between(0, 2);
    }
    Append(x.is_images() ? "pad2d" : "pad", absl::StrCat("X=", x.name),
           absl::StrCat("paddings=", ListText(paddings), ", pad_value=", value));
  }

  // Elements of two values of known dimensions, by a mask.
  void Choose(const Value& x) {
    if (x.declared != x.dims) return Pad(x);
    const Value y = Partner(x);
    const std::string mask = c_.Integers(VarType::BOOL, x.dims, 0, 1);
    c_.Persist(mask);
    AppendOf(absl::StrCat("where(Condition=", mask, ", X=", x.name, ", Y=", y.name,
                          ") -> (Out=", NextName(), ")"),
             x.declared, x.dims);
  }

  // Ops that give the same elements in another order or shape, or some of them.
  void Move() {
    const Value x = SomeValue();
    const std::string of_2x = c_.is_2x() || c_.OneIn(2) ? "2" : "";
    const auto append = [&](const std::string& type, const std::string& attributes) {
      if (of_2x.empty()) {
        Append(type, absl::StrCat("X=", x.name), attributes);
      } else {
        AppendWithShape(absl::StrCat(type, of_2x), x, attributes);
      }
    };
    switch (c_.Between(0, 8)) {
      case 0: {
        std::vector<int> axes;
        for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
        if (x.rank() > 2) std::swap(axes[c_.Between(1, x.rank() - 2)], axes.back());
        return append("transpose", absl::StrCat("axis=", ListText(axes)));
      }
      case 1:
        return append("flatten", "axis=1");
      case 2: {
        // The last two axes become one, or the last one becomes two.
        std::vector<int64_t> shape(x.dims.begin(), x.dims.end());
        if (shape.size() > 2 && c_.OneIn(2)) {
          const int64_t last = shape.back();
          shape.pop_back();
          shape.back() *= last;
        } else if (shape.size() < 4) {
          const int64_t divisor = shape.back() % 2 == 0 ? 2 : 1;
          shape.back() /= divisor;
          shape.push_back(divisor);
        }
        shape[0] = c_.OneIn(2) ? 0 : -1;
        return append("reshape", absl::StrCat("shape=", ListText(shape)));
      }
      case 3:
        if (x.rank() > 3) break;
        return append("unsqueeze", absl::StrCat("axes=[", c_.Between(1, x.rank()), "]"));
      case 4:
        Append("slice", absl::StrCat("Input=", x.name),
               absl::StrCat("axes=[1], starts=[0], ends=[", (x.dims[1] + 1) / 2, "]"));
        return;
      case 6:
        return Pad(x);
      case 7:
        return Choose(x);
      default:
        break;
    }
    Append("assign", absl::StrCat("X=", x.name), "");
  }

  // Ops that rules lower seldom or never.
  void ComputeOtherwise() {
    const Value x = SomeValue();
    const std::string input = absl::StrCat("X=", x.name);
    switch (c_.Between(0, 3)) {
      case 0:
        Append("scale", input,
               absl::StrCat("scale=", FloatText(c_.Between(-2.0f, 2.0f)),
                            c_.OneIn(2) ? ", bias=0.5" : ""));
        return;
      case 1:
        Append("softmax", input, "axis=-1");
        return;
      default: {
        const Value y = Partner(x);
        Append(c_.OneIn(2) ? "elementwise_mul" : "elementwise_sub",
               absl::StrCat(input, ", Y=", y.name), "axis=-1");
      }
    }
  }

  void AddSomething() {
    switch (c_.Between(0, 17)) {
      case 0:
      case 1:
        return AddResidualBlock();
      case 2:
      case 3:
        return Pool();
      case 4:
      case 5:
        return Concatenate();
      case 6:
      case 7:
        return Move();
      case 8: {
        const Value x = SomeValue();
        Sum(x, Partner(x));
        return;
      }
      case 9:
        return AddProductOfValues();
      case 10:
        return c_.OneIn(2) ? ComputeOtherwise() : Activate(SomeValue());
      case 11:
        return AddGate();
      case 12:
        return AddEncoderBlock();
      default:
        return AddProduct(SomeValue());
    }
  }

  CaseMaker& c_;
  const bool is_trained_;
  std::vector<Value> values_;
};

}  // namespace

RandomNetwork DrawNetwork(CaseMaker& c, bool is_trained) { return Writer(c, is_trained).Write(); }

}  // namespace fixpoint::random_cases
