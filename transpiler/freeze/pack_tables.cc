// pack_tables: tables of floats become rows of codes, each with its own range beside them. In the
// format that PaddlePaddle's lookup_table_dequant has:
//
//   lookup_table_v2(W=w, Ids=ids) -> (Out=y)                 w f32[1000,64]
//
//   unsqueeze(X=ids) -> (Out=ids.column) {axes=[-1]}
//   lookup_table_dequant(W=w.rows, Ids=ids.column) -> (Out=y)
//                                                            w.rows f32[1000,18]
//
// The other formats are bytes, and the op says which (ops/row_format.h). No quantizer simulates
// this: outputs differ from those of the test program by up to half a step of a row, and in
// PaddlePaddle's format by a step at its maximum (runtime/row_formats.h).

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/row_format.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "runtime/packed_table.h"
#include "runtime/row_formats.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/linear_ops.h"
#include "transpiler/pipeline/parameter_writer.h"

namespace fixpoint {
namespace {

// Of ids [..., 1], as the lookup of packed rows has them, and of ids [...].
constexpr char kLookup[] = "lookup_table";
constexpr char kLookupV2[] = "lookup_table_v2";

bool LooksUp(const Op& op) { return op.type() == kLookup || op.type() == kLookupV2; }

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
      if (LooksUp(op)) RETURN_IF_ERROR(Pack(op));
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
        ids->variable() == nullptr || !ids->variable()->is_dense_tensor() ||
        table->value()->origin() != Value::Origin::kEntry || !table->variable()->persistable()) {
      return absl::OkStatus();
    }
    const auto readers = table->value()->readers();
    if (std::any_of(readers.begin(), readers.end(), [](const Argument* reader) {
          return !LooksUp(reader->op()) || reader->slot_name() != "W";
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
      absl::StatusOr<Tensor> made = Packed(*tensor);
      if (!made.ok()) {
        Keep(*table, made.status().message());
        return absl::OkStatus();
      }
      ASSIGN_OR_RETURN(rows,
                       parameters_.Add(absl::StrCat(table->name(), ".rows"), *std::move(made)));
    }
    ASSIGN_OR_RETURN(const std::string column, IdsInColumn(op, *ids));
    OpBuilder lookup("lookup_table_dequant");
    lookup.Input("W", rows).Input("Ids", column).Output("Out", out->name());
    if (const OpDesc::Attr* padding = op.FindAttr("padding_idx")) lookup.Attr(*padding);
    const std::string format(NameOf(context_.table_format));
    if (format != kPaddleRows) lookup.StringAttr(kRowFormatAttr, format);
    rewriter_.InsertBefore(op, InPlaceOf(op, pass_, lookup.Build()));
    rewriter_.Remove(op);
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Packed(const Tensor& table) const {
    const RowFormat format = context_.table_format;
    ASSIGN_OR_RETURN(Tensor packed, PackTable(table, format));
    const auto columns = static_cast<size_t>(table.dims()[1]);
    ASSIGN_OR_RETURN(const size_t bytes, RowBytes(format, columns));
    ASSIGN_OR_RETURN(const size_t read, MostColumns(format, bytes));
    if (read == columns) return packed;
    return absl::InvalidArgumentError(absl::StrCat("rows have ", columns, " elements, and ",
                                                   NameOf(format), " would give ", read));
  }

  // The ids of a lookup as [..., 1].
  absl::StatusOr<std::string> IdsInColumn(const Op& op, const Argument& ids) {
    if (op.type() == kLookup) return std::string(ids.name());
    VarDesc desc = *ids.variable()->desc();
    desc.set_name(rewriter_.FreshName(absl::StrCat(ids.name(), ".column")));
    desc.clear_persistable();
    auto* const tensor = desc.mutable_type()->mutable_lod_tensor()->mutable_tensor();
    if (tensor->dims_size() > 0) tensor->add_dims(1);
    ASSIGN_OR_RETURN(const Variable* column, rewriter_.AddVariable(op.block(), desc));
    rewriter_.InsertBefore(op, InPlaceOf(op, pass_,
                                         OpBuilder("unsqueeze")
                                             .Input("X", ids.name())
                                             .Output("Out", column->name())
                                             .IntsAttr("axes", {-1})
                                             .Build()));
    return std::string(column->name());
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
    return "Stores tables of floats as rows of codes, each row with its own range.";
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
