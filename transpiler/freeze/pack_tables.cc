// pack_tables: tables of floats become rows of 8-bit codes, each with its own range beside them, in
// the format of PaddlePaddle's lookup_table_dequant:
//
//   lookup_table(W=w, Ids=ids) -> (Out=y)                    w f32[1000,64]
//
//   lookup_table_dequant(W=w.rows, Ids=ids) -> (Out=y)       w.rows f32[1000,18]
//
// No quantizer simulates this: outputs differ from those of the test program by up to half a step
// of a row, and by a step at its maximum (runtime/row_formats.h).

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "runtime/packed_table.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/linear_ops.h"
#include "transpiler/pipeline/parameter_writer.h"

namespace fixpoint {
namespace {

// What PaddlePaddle has a lookup of packed rows for: ids [..., 1].
constexpr char kLookup[] = "lookup_table";

class TablePacker {
 public:
  TablePacker(Program* program, FreezeContext* context, absl::string_view pass)
      : program_(*program),
        context_(*context),
        pass_(pass),
        rewriter_(program, pass),
        parameters_(program_, &context->parameters, &rewriter_) {}

  absl::Status PackAll() {
    for (const Op& op : program_.ops()) {
      if (op.type() == kLookup) RETURN_IF_ERROR(Pack(op));
    }
    return absl::OkStatus();
  }

 private:
  // Leaves a table as it is that is no parameter of floats, or that other ops read too.
  absl::Status Pack(const Op& op) {
    const Argument* const table = op.Input("W");
    const Argument* const ids = op.Input("Ids");
    const Argument* const out = op.Output("Out");
    if (table == nullptr || ids == nullptr || out == nullptr || table->value() == nullptr ||
        table->value()->origin() != Value::Origin::kEntry || !table->variable()->persistable()) {
      return absl::OkStatus();
    }
    const auto readers = table->value()->readers();
    if (std::any_of(readers.begin(), readers.end(), [](const Argument* reader) {
          return reader->op().type() != kLookup || reader->slot_name() != "W";
        })) {
      Keep(*table, "other ops read it too");
      return absl::OkStatus();
    }
    std::string& rows = packed_[table->variable()];
    if (rows.empty()) {
      const Scope::Value* const value = context_.parameters.FindOrNull(table->name());
      const Tensor* const tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
      if (tensor == nullptr) {
        return absl::NotFoundError(absl::StrCat(
            DescribeInFile(op), ": the parameters have no table \"", table->name(), "\""));
      }
      absl::StatusOr<Tensor> made = PackTable(*tensor, RowFormat::kPaddleDequant);
      if (!made.ok()) {
        Keep(*table, made.status().message());
        return absl::OkStatus();
      }
      ASSIGN_OR_RETURN(rows,
                       parameters_.Add(absl::StrCat(table->name(), ".rows"), *std::move(made)));
    }
    OpBuilder lookup("lookup_table_dequant");
    lookup.Input("W", rows).Input("Ids", ids->name()).Output("Out", out->name());
    if (const OpDesc::Attr* padding = op.FindAttr("padding_idx")) lookup.Attr(*padding);
    rewriter_.InsertBefore(op, InPlaceOf(op, pass_, lookup.Build()));
    rewriter_.Remove(op);
    return absl::OkStatus();
  }

  void Keep(const Argument& table, absl::string_view why) {
    if (!kept_.insert(table.variable()).second) return;
    context_.notes.push_back(
        absl::StrCat("the table \"", table.name(), "\" stays in floats: ", why));
  }

  Program& program_;
  FreezeContext& context_;
  const std::string pass_;
  Rewriter rewriter_;
  ParameterWriter parameters_;
  absl::flat_hash_map<const Variable*, std::string> packed_;
  absl::flat_hash_set<const Variable*> kept_;
};

class PackTables final : public StagePass<FreezeContext> {
 public:
  absl::string_view name() const override { return "pack_tables"; }
  absl::string_view doc() const override {
    return "Stores tables of floats as PaddlePaddle's rows of 8-bit codes.";
  }
  std::vector<std::string> Requires() const override { return {"test_mode", "trained_parameters"}; }
  std::vector<std::string> Establishes() const override { return {}; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status RunIn(Program& program, FreezeContext& context) const override {
    return TablePacker(&program, &context, name()).PackAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakePackTables() { return std::make_unique<PackTables>(); }

}  // namespace fixpoint
