#include "tests/runtime/reference/random_op.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/op_schema.h"
#include "runtime/reference/array.h"
#include "runtime/tensor.h"

namespace fixpoint::reference {
namespace {

Dims RandomDims(Random& random) {
  Dims dims(random.Below(5));
  for (int64_t& dim : dims) dim = random.OneIn(12) ? 0 : 1 + random.Below(4);
  if (dims.size() > 1 && random.OneIn(8)) {
    dims[0] = int64_t{1} << (random.OneIn(2) ? 20 : 40);
    dims[1] = 0;
    if (random.OneIn(2)) std::swap(dims[0], dims[1]);
  }
  return dims;
}

// A tensor of one of a few shapes, so that some fit; some hold sequences, some indices.
Tensor RandomTensor(Random& random, const std::vector<Dims>& shapes) {
  const std::vector<VarType::Type> types = {VarType::FP32,  VarType::FP32, VarType::INT64,
                                            VarType::INT32, VarType::BOOL, VarType::INT8};
  const VarType::Type type = random.OneOf(types);
  const Dims dims = random.OneOf(shapes);
  if (Volume(dims) == 0) return *Tensor::Allocate(type, {dims.begin(), dims.end()});
  Array array(type, dims);
  for (double& value : array.values) {
    // An INT32 at its end may ask for a tensor of 2^31 elements, for which there may be memory.
    const std::vector<double> unlikely = {100, NAN, -INFINITY,
                                          type == VarType::INT32 ? 100 : INFINITY};
    value =
        Rounded(random.OneIn(10) ? random.OneOf(unlikely) : random.Below(8) / 2.0 - 1, array.dtype);
  }
  if (!array.dims.empty() && random.OneIn(2)) {
    const uint64_t rows = static_cast<uint64_t>(array.dims[0]);
    array.lod = {{0, rows / 2, random.OneIn(4) ? rows + 1 : rows}};
  }
  return *TensorOf(array);
}

OpDesc::Attr RandomAttr(Random& random, const AttrSchema& schema) {
  const std::vector<std::string> words = {"",        "NCHW",    "NHWC", "max",    "avg",
                                          "channel", "element", "SAME", "AVERAGE"};
  OpDesc::Attr attr;
  attr.set_name(schema.name);
  attr.set_type(schema.type);
  attr.set_i(random.Below(8) - 2);
  attr.set_l(random.Below(8) - 2);
  attr.set_f(static_cast<float>(random.Below(8)) / 2 - 1);
  attr.set_float64(attr.f());
  if (random.OneIn(20)) {  // the ends of their types, but for 2^31 - 1, as above
    attr.set_i(INT32_MIN);
    attr.set_l(random.OneIn(2) ? INT64_MIN : INT64_MAX);
    attr.set_f(random.OneIn(2) ? 1e30f : -1e30f);
    attr.set_float64(attr.f());
    attr.add_ints(INT32_MIN);
    attr.add_longs(attr.l());
    attr.add_floats(attr.f());
  }
  attr.set_b(random.OneIn(2));
  attr.set_s(random.OneOf(words));
  for (int n = random.Below(5); n > 0; --n) {
    attr.add_ints(random.Below(6) - 1);
    attr.add_longs(random.Below(6) - 1);
    attr.add_floats(static_cast<float>(random.Below(6)));
  }
  return attr;
}

// With random inputs, which go into the scope, and some random attributes.
OpDesc RandomOp(Random& random, const OpSchema& schema, Scope* scope) {
  OpDesc op;
  op.set_type(schema.type());
  std::vector<Dims> shapes = {RandomDims(random), RandomDims(random), Dims{1}};
  for (const SlotSchema& slot : schema.inputs()) {
    if (slot.optional && random.OneIn(2)) continue;
    OpDesc::Var* arguments = op.add_inputs();
    arguments->set_parameter(slot.name);
    for (int n = slot.list ? random.Below(3) : 1; n > 0; --n) {
      const std::string name = absl::StrCat(slot.name, "_", n);
      arguments->add_arguments(name);
      scope->Set(name, RandomTensor(random, shapes));
    }
  }
  for (const SlotSchema& slot : schema.outputs()) {
    OpDesc::Var* arguments = op.add_outputs();
    arguments->set_parameter(slot.name);
    for (int n = slot.list ? random.Below(4) : 1; n > 0; --n) {
      arguments->add_arguments(absl::StrCat(slot.name, "_out_", n));
    }
    // Some ops read what an output held before.
    if (!slot.list && random.OneIn(2)) {
      scope->Set(slot.name + "_out_1", RandomTensor(random, shapes));
    }
  }
  for (const AttrSchema& attr : schema.attrs()) {
    if (attr.default_value && !random.OneIn(3)) continue;
    if (attr.type != AttrType::BLOCK) *op.add_attrs() = RandomAttr(random, attr);
  }
  return op;
}

}  // namespace

ProgramDesc RandomOpProgram(Random& random, const OpSchema& schema, Scope* scope) {
  ProgramDesc desc;
  desc.mutable_version()->set_version(random.OneIn(2) ? 1008005 : 2006002);
  BlockDesc* block = desc.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  *block->add_ops() = RandomOp(random, schema, scope);
  return desc;
}

}  // namespace fixpoint::reference
