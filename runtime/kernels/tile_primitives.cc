#include "runtime/kernels/tile_primitives.h"

#include <cstddef>
#include <cstring>
#include <iterator>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/onednn_packed_form.h"
#include "runtime/kernels/product_descs.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

constexpr auto kFloat = memory::data_type::f32;

// Before those that no plan has are dropped.
constexpr size_t kMostTiles = 2048;

uint32_t BitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

using Key = absl::InlinedVector<int64_t, 16>;

class Tiles {
 public:
  static Tiles& OfProcess() {
    static Tiles* const tiles = new Tiles;
    return *tiles;
  }

  std::shared_ptr<const TilePrimitive> Find(const Key& key) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = by_key_.find(key);
    return found != by_key_.end() ? found->second : nullptr;
  }

  // What is there by that key afterwards.
  std::shared_ptr<const TilePrimitive> Add(const Key& key,
                                           std::shared_ptr<const TilePrimitive> tile) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    if (by_key_.size() >= kMostTiles) {
      for (auto kept = by_key_.begin(); kept != by_key_.end();) {
        const auto next = std::next(kept);
        if (kept->second.use_count() == 1) by_key_.erase(kept);
        kept = next;
      }
    }
    return by_key_.try_emplace(key, std::move(tile)).first->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  absl::flat_hash_map<Key, std::shared_ptr<const TilePrimitive>> by_key_;
};

// All that decides what is compiled. The packed layout of a tile follows from the others and
// `like_rows`.
Key KeyOf(const ProductShape& shape, const Epilogue& epilogue, bool adds_to_output,
          int64_t like_rows) {
  Key key = {GrantedThreads(),  shape.rows,     shape.inner, shape.columns,
             shape.transpose_y, adds_to_output, like_rows};
  for (const EpilogueStage& stage : epilogue) {
    key.push_back(static_cast<int64_t>(stage.kind));
    key.push_back(BitsOf(stage.a));
    key.push_back(BitsOf(stage.b));
  }
  return key;
}

std::shared_ptr<const TilePrimitive> Create(const ProductShape& shape, const Epilogue& epilogue,
                                            bool adds_to_output, const TilePrimitive* like) {
  const memory::desc x = XDesc(shape, kFloat);
  const memory::desc out = OutDesc(shape);
  const memory::desc weights =
      like != nullptr ? like->weights : AnyLayout({1, shape.inner, shape.columns}, kFloat);
  const EpiloguePostOps post_ops(epilogue, out, kColumnAxis, adds_to_output);
  const dnnl::matmul::primitive_desc desc(Engine(), x, weights, out, post_ops.attr());
  return std::make_shared<const TilePrimitive>(TilePrimitive{
      x, desc.weights_desc(), out, FormOfReordering(YDesc(shape, kFloat), desc.weights_desc()),
      desc.impl_info_str(), Primitive::Create(desc)});
}

}  // namespace

std::shared_ptr<const TilePrimitive> FindOrCreateTile(const ProductShape& shape,
                                                      const Epilogue& epilogue, bool adds_to_output,
                                                      const TilePrimitive* like) {
  const int64_t like_rows = like != nullptr ? like->x.get_dims()[1] : 0;
  const Key key = KeyOf(shape, epilogue, adds_to_output, like_rows);
  Tiles& tiles = Tiles::OfProcess();
  std::shared_ptr<const TilePrimitive> tile = tiles.Find(key);
  if (tile != nullptr) return tile;
  return tiles.Add(key, Create(shape, epilogue, adds_to_output, like));
}

}  // namespace fixpoint::kernels
