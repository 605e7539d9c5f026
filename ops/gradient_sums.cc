#include "ops/gradient_sums.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "proto/program/slots.h"

namespace fixpoint {
namespace {

class GradientSums {
 public:
  GradientSums(const absl::flat_hash_set<std::string>& gradients,
               const absl::flat_hash_set<std::string>& given, int block)
      : gradients_(gradients), given_(given), block_(block) {}

  SummedGradients Insert(std::vector<OpDesc> ops) {
    for (OpDesc& op : ops) {
      SumWhatIsRead(op);
      ops_.push_back(std::move(op));
      AddParts(ops_.size() - 1);
    }
    for (const std::string& gradient : order_) Sum(gradient);
    return {std::move(ops_), std::move(part_of_)};
  }

 private:
  // Where a gradient is named while it has only one part.
  struct Mention {
    size_t op;
    bool is_output;
    int slot;
    int index;
  };
  struct Parts {
    std::vector<std::string> names;
    std::vector<Mention> mentions;
    int renamed = 0;
  };

  bool IsGradient(const std::string& name) const { return gradients_.contains(name); }

  Parts& PartsOf(const std::string& gradient) {
    const auto [parts, is_new] = parts_.try_emplace(gradient);
    if (is_new) {
      order_.push_back(gradient);
      if (given_.contains(gradient)) parts->second.names = {gradient};
    }
    return parts->second;
  }

  // Writes the sums that an op is about to read, and notes the other gradients that it reads.
  void SumWhatIsRead(const OpDesc& op) {
    read_.clear();
    for (const OpDesc::Var& slot : op.inputs()) {
      for (const std::string& name : slot.arguments()) {
        if (!IsGradient(name)) continue;
        Sum(name);
        read_.insert(name);
      }
    }
    for (int slot = 0; slot < op.inputs_size(); ++slot) {
      for (int i = 0; i < op.inputs(slot).arguments_size(); ++i) {
        const std::string& name = op.inputs(slot).arguments(i);
        if (IsGradient(name)) PartsOf(name).mentions.push_back({ops_.size(), false, slot, i});
      }
    }
  }

  void AddParts(size_t position) {
    for (int slot = 0; slot < ops_[position].outputs_size(); ++slot) {
      for (int i = 0; i < ops_[position].outputs(slot).arguments_size(); ++i) {
        const OpDesc& op = ops_[position];
        const std::string gradient = op.outputs(slot).arguments(i);
        if (!IsGradient(gradient)) continue;
        Parts& parts = PartsOf(gradient);
        if (read_.contains(gradient)) {
          parts.mentions.push_back({position, true, slot, i});
          continue;
        }
        if (parts.names.empty()) {
          parts.names.push_back(gradient);
          parts.mentions = {{position, true, slot, i}};
          continue;
        }
        // What is given, and a sum that it went into, stay as they are.
        if (parts.names.size() == 1 && !given_.contains(gradient)) RenameFirst(gradient, parts);
        parts.names.push_back(NewName(gradient, parts));
        Rename({position, true, slot, i}, parts.names.back());
      }
    }
  }

  std::string NewName(const std::string& gradient, Parts& parts) {
    std::string name = absl::StrCat(gradient, "@RENAME@block", block_, "@", parts.renamed++);
    part_of_.emplace(name, gradient);
    return name;
  }

  void RenameFirst(const std::string& gradient, Parts& parts) {
    parts.names.front() = NewName(gradient, parts);
    for (const Mention& mention : parts.mentions) Rename(mention, parts.names.front());
    parts.mentions.clear();
  }

  void Rename(const Mention& mention, const std::string& name) {
    OpDesc& op = ops_[mention.op];
    Slots& slots = mention.is_output ? *op.mutable_outputs() : *op.mutable_inputs();
    slots[mention.slot].set_arguments(mention.index, name);
  }

  void Sum(const std::string& gradient) {
    Parts& parts = PartsOf(gradient);
    if (parts.names.size() < 2) return;
    OpBuilder sum("sum");
    sum.Output("Out", gradient).BoolAttr("use_mkldnn", false).IntAttr("op_role", kBackward);
    OpDesc::Var* x = sum.op().add_inputs();
    x->set_parameter("X");
    for (const std::string& part : parts.names) x->add_arguments(part);
    parts.names = {gradient};
    parts.mentions.push_back({ops_.size(), true, 0, 0});
    ops_.push_back(sum.Build());
  }

  const absl::flat_hash_set<std::string>& gradients_;
  const absl::flat_hash_set<std::string>& given_;
  const int block_;
  std::vector<OpDesc> ops_;
  absl::flat_hash_map<std::string, std::string> part_of_;
  absl::flat_hash_map<std::string, Parts> parts_;
  std::vector<std::string> order_;         // the order in which gradients were first named
  absl::flat_hash_set<std::string> read_;  // read by the op whose parts are added
};

}  // namespace

SummedGradients SumGradients(std::vector<OpDesc> ops,
                             const absl::flat_hash_set<std::string>& gradients,
                             const absl::flat_hash_set<std::string>& given, int block) {
  return GradientSums(gradients, given, block).Insert(std::move(ops));
}

}  // namespace fixpoint
