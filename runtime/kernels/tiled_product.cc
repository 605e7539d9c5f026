#include "runtime/kernels/tiled_product.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/many_shapes.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/onednn_implementations.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/product_descs.h"
#include "runtime/kernels/threads.h"
#include "runtime/kernels/tile_primitives.h"

namespace fixpoint::kernels {
namespace {

using Kind = EpilogueStage::Kind;

// For each thread. The rows that fill no tile are computed in one of a multiple of kStep rows.
constexpr int64_t kTileRows = 64;
constexpr int64_t kStep = 8;
// There are few such numbers of rows, and each has a tile of its own.
constexpr int64_t kFewRows = 16;

int64_t RowsOfTile(int64_t rows) { return rows <= kFewRows ? rows : kTileRows * GrantedThreads(); }

bool AddsElements(const Epilogue& epilogue) {
  return std::any_of(epilogue.begin(), epilogue.end(),
                     [](const EpilogueStage& stage) { return stage.kind == Kind::kAddElement; });
}

// A part of the rows of x, of the operands that have a row for each, and of the output.
struct Rows {
  absl::Span<const float> x;
  EpilogueOperands operands;
  absl::Span<float> out;
};

// A primitive with places for its operands.
class Tile {
 public:
  Tile(std::shared_ptr<const TilePrimitive> primitive, const ProductShape& shape,
       const Epilogue& epilogue, bool adds_to_output)
      : primitive_(std::move(primitive)),
        shape_(shape),
        adds_to_output_(adds_to_output),
        epilogue_(epilogue, primitive_->out, kColumnAxis, adds_to_output),
        x_(Operand::Elsewhere(primitive_->x)),
        packed_(Operand::Elsewhere(primitive_->weights)),
        out_(Operand::Elsewhere(primitive_->out)),
        multiply_(primitive_->primitive,
                  epilogue_.With(
                      {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, packed_}, {DNNL_ARG_DST, out_}})) {
    for (const EpilogueStage& stage : epilogue) {
      has_rows_.push_back(stage.kind == Kind::kAddElement && !adds_to_output);
    }
  }

  const TilePrimitive& primitive() const { return *primitive_; }
  int64_t rows() const { return shape_.rows; }
  int64_t packed_bytes() const { return packed_.bytes(); }

  void Run(const Rows& rows, absl::Span<const uint8_t> y) {
    x_.PointTo(rows.x);
    packed_.PointTo(y);
    epilogue_.PointTo(rows.operands);
    out_.PointTo(rows.out);
    multiply_.Run();
  }

  // The memory that RunFewer works in.
  int64_t copies_bytes() const {
    size_t floats = x_copy_.size() + out_copy_.size();
    for (const std::vector<float>& copy : operand_copies_) floats += copy.size();
    return static_cast<int64_t>(floats * sizeof(float));
  }
  void MakeCopies() {
    x_copy_.resize(shape_.x_size());
    out_copy_.resize(shape_.out_size());
    operands_.resize(has_rows_.size());
    operand_copies_.resize(has_rows_.size());
    for (size_t i = 0; i < has_rows_.size(); ++i) {
      if (has_rows_[i]) operand_copies_[i].resize(shape_.out_size());
    }
  }

  // The same for fewer rows than the tile has. What those that nobody wants hold does not matter.
  // REQUIRES: MakeCopies.
  void RunFewer(const Rows& rows, absl::Span<const uint8_t> y) {
    std::copy(rows.x.begin(), rows.x.end(), x_copy_.begin());
    for (size_t i = 0; i < operands_.size(); ++i) {
      operands_[i] = rows.operands[i];
      if (!has_rows_[i]) continue;
      std::copy(operands_[i].begin(), operands_[i].end(), operand_copies_[i].begin());
      operands_[i] = operand_copies_[i];
    }
    if (adds_to_output_) std::copy(rows.out.begin(), rows.out.end(), out_copy_.begin());
    Run({x_copy_, operands_, absl::MakeSpan(out_copy_)}, y);
    std::copy_n(out_copy_.begin(), rows.out.size(), rows.out.begin());
  }

 private:
  const std::shared_ptr<const TilePrimitive> primitive_;
  const ProductShape shape_;
  const bool adds_to_output_;
  std::vector<bool> has_rows_;  // for each stage: whether its operand has a row for each of x
  EpiloguePostOps epilogue_;
  Operand x_;
  Operand packed_;
  Operand out_;
  Execution multiply_;
  std::vector<float> x_copy_;
  std::vector<float> out_copy_;
  std::vector<absl::Span<const float>> operands_;
  std::vector<std::vector<float>> operand_copies_;
};

// The tiles that the products of a thread take: making the places of operands takes longer than all
// else that planning a product in tiles does.
class TilesOfThread {
 public:
  // Null: the thread ends, and its tiles have been destroyed.
  static TilesOfThread* Get() {
    thread_local TilesOfThread tiles;
    return have_ended_ ? nullptr : &tiles;
  }

  ~TilesOfThread() { have_ended_ = true; }

  // One that another product of the same plan has, which does not run at the same time; one that is
  // idle; or a new one. Throws dnnl::error.
  std::shared_ptr<Tile> Take(const ProductShape& shape, const Epilogue& epilogue,
                             bool adds_to_output, const TilePrimitive* like) {
    std::shared_ptr<const TilePrimitive> primitive =
        FindOrCreateTile(shape, epilogue, adds_to_output, like);
    if (std::exchange(plan_, NumberOfManyShapes()) != NumberOfManyShapes()) of_plan_.clear();
    std::weak_ptr<Tile>& of_plan = of_plan_[primitive.get()];
    std::shared_ptr<Tile> tile = of_plan.lock();
    if (tile != nullptr) return tile;
    std::unique_ptr<Tile> own = TakeIdle(*primitive);
    if (own == nullptr) {
      own = std::make_unique<Tile>(std::move(primitive), shape, epilogue, adds_to_output);
    }
    tile = std::shared_ptr<Tile>(own.release(), &TilesOfThread::Leave);
    of_plan = tile;
    return tile;
  }

 private:
  std::unique_ptr<Tile> TakeIdle(const TilePrimitive& primitive) {
    const auto found = idle_.find(&primitive);
    if (found == idle_.end() || found->second.empty()) return nullptr;
    std::unique_ptr<Tile> tile = std::move(found->second.back());
    found->second.pop_back();
    if (found->second.empty()) idle_.erase(found);
    --idle_count_;
    return tile;
  }

  // The tile of a plan that is gone, for those that the thread makes next.
  static void Leave(Tile* left) {
    constexpr size_t kMost = 256;
    // Of a tile that waits for a plan which may not come.
    constexpr int64_t kMostBytes = 256 << 10;
    std::unique_ptr<Tile> tile(left);
    TilesOfThread* const tiles = Get();
    if (tiles == nullptr || tiles->idle_count_ == kMost || tile->copies_bytes() > kMostBytes) {
      return;
    }
    try {
      tiles->idle_[&tile->primitive()].push_back(std::move(tile));
      ++tiles->idle_count_;
    } catch (const std::bad_alloc&) {
      // Then the next plan makes its own.
    }
  }

  static thread_local bool have_ended_;

  uint64_t plan_ = 0;  // NumberOfManyShapes
  absl::flat_hash_map<const TilePrimitive*, std::weak_ptr<Tile>> of_plan_;
  size_t idle_count_ = 0;
  absl::flat_hash_map<const TilePrimitive*, std::vector<std::unique_ptr<Tile>>> idle_;
};

thread_local bool TilesOfThread::have_ended_ = false;

std::shared_ptr<Tile> TakeTile(const ProductShape& shape, const Epilogue& epilogue,
                               bool adds_to_output, const TilePrimitive* like) {
  // A thread that plans has not ended.
  return CHECK_NOTNULL(TilesOfThread::Get())->Take(shape, epilogue, adds_to_output, like);
}

class TiledProduct final : public Product, public HasPackedForm {
 public:
  TiledProduct(const ProductShape& shape, const Epilogue& epilogue, bool adds_to_output)
      : shape_(shape),
        epilogue_(epilogue),
        adds_to_output_(adds_to_output),
        adds_elements_(AddsElements(epilogue)),
        whole_(TakeTile(WithRows(RowsOfTile(shape.rows)), epilogue, adds_to_output, nullptr)),
        operands_(epilogue.size()) {
    const int64_t rest = shape.rows % whole_->rows();
    if (rest == 0) return;
    const int64_t step = kStep * GrantedThreads();
    rest_ = TakeTile(WithRows(CeilDivide(rest, step) * step), epilogue, adds_to_output,
                     &whole_->primitive());
    if (IsRestCopied()) rest_->MakeCopies();
  }

  // Whether the primitives are those whose sums have one order.
  bool HasOneOrder() const {
    const auto has = [](const Tile& tile) {
      const std::string& name = tile.primitive().implementation;
      return absl::StartsWith(name, "brg") && IsAllowed(OnednnUse::kFloatsWithEpilogue, name);
    };
    return has(*whole_) && (rest_ == nullptr || has(*rest_));
  }

  int64_t packed_bytes() const override { return whole_->packed_bytes(); }
  std::string packed_form() const override { return whole_->primitive().packed_form; }
  void Pack(absl::Span<const float> y, absl::Span<uint8_t> packed) override {
    if (!packing_) packing_.emplace(shape_, whole_->primitive().weights);
    packing_->from.PointTo(y);
    packing_->to.PointTo(packed);
    packing_->reorder.Run();
  }

  void Run(absl::Span<const float> x, absl::Span<const uint8_t> y, EpilogueOperands operands,
           absl::Span<float> out) override {
    CHECK_EQ(static_cast<int64_t>(x.size()), shape_.x_size());
    CHECK_EQ(static_cast<int64_t>(out.size()), shape_.out_size());
    CHECK_EQ(operands.size(), epilogue_.size());
    int64_t begin = 0;
    for (; begin + whole_->rows() <= shape_.rows; begin += whole_->rows()) {
      whole_->Run(PartOf(x, operands, out, begin, whole_->rows()), y);
    }
    if (rest_ == nullptr) return;
    if (IsRestCopied()) {
      rest_->RunFewer(PartOf(x, operands, out, begin, shape_.rows - begin), y);
    } else {
      // Rows that were computed before may be computed again.
      rest_->Run(PartOf(x, operands, out, shape_.rows - rest_->rows(), rest_->rows()), y);
    }
  }

  std::string implementation() const override {
    return absl::StrCat(whole_->primitive().implementation, "+tiles");
  }

 private:
  struct Packing {
    Packing(const ProductShape& shape, const dnnl::memory::desc& weights)
        : from(Operand::Elsewhere(YDesc(shape, dnnl::memory::data_type::f32))),
          to(Operand::Elsewhere(weights)),
          reorder(Reordering(from, to)) {}
    Operand from;
    Operand to;
    Execution reorder;
  };

  ProductShape WithRows(int64_t rows) const {
    ProductShape shape = shape_;
    shape.rows = rows;
    return shape;
  }

  bool IsRestCopied() const {
    const bool is_filled = shape_.rows % whole_->rows() == rest_->rows();
    return !is_filled && (adds_elements_ || shape_.rows < rest_->rows());
  }

  Rows PartOf(absl::Span<const float> x, EpilogueOperands operands, absl::Span<float> out,
              int64_t begin, int64_t rows) {
    const auto part = [&](auto all, int64_t columns) {
      return all.subspan(begin * columns, rows * columns);
    };
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool has_rows = epilogue_[i].kind == Kind::kAddElement && !adds_to_output_;
      operands_[i] = has_rows ? part(operands[i], shape_.columns) : operands[i];
    }
    return {part(x, shape_.inner), operands_, part(out, shape_.columns)};
  }

  const ProductShape shape_;
  const Epilogue epilogue_;
  const bool adds_to_output_;
  const bool adds_elements_;
  const std::shared_ptr<Tile> whole_;
  std::shared_ptr<Tile> rest_;  // null: the rows fill tiles
  std::optional<Packing> packing_;
  std::vector<absl::Span<const float>> operands_;  // of the tile that runs
};

}  // namespace

bool HasTiles(const ProductShape& shape) {
  return shape.batch == 1 && !shape.transpose_x && BestInstructionSet() == InstructionSet::kAvx512;
}

absl::StatusOr<std::unique_ptr<Product>> PlanTiledProduct(const ProductShape& shape,
                                                          const Epilogue& epilogue,
                                                          bool adds_to_output) {
  auto tiled = Planned("a product in tiles", [&] {
    return std::make_unique<TiledProduct>(shape, epilogue, adds_to_output);
  });
  if (!tiled.ok()) return tiled.status();
  if (!(*tiled)->HasOneOrder()) {
    return absl::UnimplementedError(
        absl::StrCat("oneDNN has only ", (*tiled)->implementation(), " for a product in tiles"));
  }
  return std::unique_ptr<Product>(*std::move(tiled));
}

}  // namespace fixpoint::kernels
