#include "transpiler/report/page/graph_layout.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

namespace fixpoint {
namespace {

constexpr int kSweeps = 8;
// What an edge that passes a layer takes there, of a node's width.
constexpr double kPassing = 0.15;

// A node, or the place of an edge in a layer that it passes.
struct Item {
  int layer = 0;
  double width = 0;
  double x = 0;  // its middle
  std::vector<size_t> above;
  std::vector<size_t> below;
};

class Layout {
 public:
  Layout(int nodes, const std::vector<GraphEdge>& edges, const NodeSize& size)
      : size_(size), node_count_(static_cast<size_t>(nodes)), items_(node_count_) {
    ChooseLayers(edges);
    for (const GraphEdge& edge : edges) AddEdge(edge);
    layers_.resize(static_cast<size_t>(layer_count_));
    for (size_t i = 0; i < items_.size(); ++i) {
      layers_[static_cast<size_t>(items_[i].layer)].push_back(i);
    }
  }

  PlacedGraph Place() {
    for (std::vector<size_t>& layer : layers_) PackTight(layer);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const bool is_down = sweep % 2 == 0;
      // The order of a layer is settled before its places are.
      const bool may_reorder = sweep < kSweeps / 2;
      for (size_t i = 0; i < layers_.size(); ++i) {
        Shift(layers_[is_down ? i : layers_.size() - 1 - i], is_down, may_reorder);
      }
    }
    return Result();
  }

 private:
  void ChooseLayers(const std::vector<GraphEdge>& edges) {
    std::vector<int> highest(node_count_, std::numeric_limits<int>::max());
    std::vector<bool> has_above(node_count_);
    std::vector<std::vector<size_t>> after(node_count_);
    for (const GraphEdge& edge : edges) {
      after[static_cast<size_t>(edge.from)].push_back(static_cast<size_t>(edge.to));
      has_above[static_cast<size_t>(edge.to)] = true;
    }
    for (size_t i = 0; i < node_count_; ++i) {
      for (const size_t next : after[i]) {
        items_[next].layer = std::max(items_[next].layer, items_[i].layer + 1);
      }
    }
    // What nothing leads to stands just above its first reader.
    for (size_t i = 0; i < node_count_; ++i) {
      if (has_above[i]) continue;
      for (const size_t next : after[i]) highest[i] = std::min(highest[i], items_[next].layer - 1);
      if (!after[i].empty()) items_[i].layer = highest[i];
    }
    for (Item& item : items_) {
      item.width = size_.width;
      layer_count_ = std::max(layer_count_, item.layer + 1);
    }
  }

  void AddEdge(const GraphEdge& edge) {
    const auto to = static_cast<size_t>(edge.to);
    std::vector<size_t> path = {static_cast<size_t>(edge.from)};
    for (int layer = items_[path[0]].layer + 1; layer < items_[to].layer; ++layer) {
      Item& passing = items_.emplace_back();
      passing.layer = layer;
      passing.width = kPassing * size_.width;
      path.push_back(items_.size() - 1);
    }
    path.push_back(to);
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      items_[path[i]].below.push_back(path[i + 1]);
      items_[path[i + 1]].above.push_back(path[i]);
    }
    paths_.push_back(std::move(path));
  }

  double Apart(const Item& left, const Item& right) const {
    return (left.width + right.width) / 2 + size_.gap;
  }

  void PackTight(const std::vector<size_t>& layer) {
    for (size_t i = 1; i < layer.size(); ++i) {
      items_[layer[i]].x = items_[layer[i - 1]].x + Apart(items_[layer[i - 1]], items_[layer[i]]);
    }
  }

  // The mean place of an item's neighbours in the layer that was placed before; its own without
  // any.
  double WantedPlace(const Item& item, bool is_down) const {
    const std::vector<size_t>& neighbours = is_down ? item.above : item.below;
    if (neighbours.empty()) return item.x;
    const double sum =
        std::accumulate(neighbours.begin(), neighbours.end(), 0.0,
                        [this](double so_far, size_t i) { return so_far + items_[i].x; });
    return sum / static_cast<double>(neighbours.size());
  }

  void Shift(std::vector<size_t>& layer, bool is_down, bool may_reorder) {
    std::vector<double> wanted(layer.size());
    if (may_reorder) {
      std::vector<std::pair<double, size_t>> order;
      for (const size_t i : layer) order.emplace_back(WantedPlace(items_[i], is_down), i);
      std::stable_sort(order.begin(), order.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < layer.size(); ++i) layer[i] = order[i].second;
    }
    for (size_t i = 0; i < layer.size(); ++i) wanted[i] = WantedPlace(items_[layer[i]], is_down);
    double excess = 0;
    for (size_t i = 0; i < layer.size(); ++i) {
      Item& item = items_[layer[i]];
      item.x = wanted[i];
      if (i > 0) {
        const Item& left = items_[layer[i - 1]];
        item.x = std::max(item.x, left.x + Apart(left, item));
      }
      excess += item.x - wanted[i];
    }
    // Pushing items apart moved them to the right: half of them go back.
    for (const size_t i : layer) items_[i].x -= excess / static_cast<double>(layer.size());
  }

  double TopOf(const Item& item) const { return item.layer * (size_.height + size_.rise); }

  PlacedGraph Result() const {
    PlacedGraph placed;
    double left = items_.empty() ? 0 : std::numeric_limits<double>::infinity();
    for (const Item& item : items_) left = std::min(left, item.x - item.width / 2);
    for (size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      const Point corner{item.x - item.width / 2 - left, TopOf(item)};
      placed.width = std::max(placed.width, corner.x + item.width);
      placed.height = std::max(placed.height, corner.y + size_.height);
      if (i < node_count_) placed.nodes.push_back(corner);
    }
    for (const std::vector<size_t>& path : paths_) {
      std::vector<Point>& edge = placed.edges.emplace_back();
      for (size_t i = 0; i < path.size(); ++i) {
        const Item& item = items_[path[i]];
        // A passing edge goes straight through the height of its layer.
        if (i > 0) edge.push_back({item.x - left, TopOf(item)});
        if (i + 1 < path.size()) edge.push_back({item.x - left, TopOf(item) + size_.height});
      }
    }
    return placed;
  }

  const NodeSize size_;
  const size_t node_count_;
  std::vector<Item> items_;                 // nodes first
  std::vector<std::vector<size_t>> paths_;  // of edges
  std::vector<std::vector<size_t>> layers_;
  int layer_count_ = 0;
};

}  // namespace

PlacedGraph PlaceGraph(int nodes, const std::vector<GraphEdge>& edges, const NodeSize& size) {
  return Layout(nodes, edges, size).Place();
}

}  // namespace fixpoint
