// Places the nodes of a graph without cycles in layers, top to bottom.

#ifndef FIXPOINT_TRANSPILER_REPORT_PAGE_GRAPH_LAYOUT_H_
#define FIXPOINT_TRANSPILER_REPORT_PAGE_GRAPH_LAYOUT_H_

#include <vector>

namespace fixpoint {

struct GraphEdge {
  int from = 0;
  int to = 0;  // a node after `from`
};

struct NodeSize {
  double width = 0;
  double height = 0;
  double gap = 0;   // between nodes of a layer
  double rise = 0;  // between layers
};

struct Point {
  double x = 0;
  double y = 0;
};

struct PlacedGraph {
  std::vector<Point> nodes;               // their upper left corners
  std::vector<std::vector<Point>> edges;  // for each edge, from node to node between the layers
  double width = 0;
  double height = 0;
};

// Each node stands below those that it has edges from, and edges that pass layers have a place of
// their own there (K. Sugiyama et al. 1981, "Methods for Visual Understanding of Hierarchical
// System Structures"; layers are ordered and then shifted by the means of neighbours). Takes time
// linear in nodes and in the layers that edges pass, but for sorting layers. REQUIRES: 0 <= from <
// to < nodes for every edge.
PlacedGraph PlaceGraph(int nodes, const std::vector<GraphEdge>& edges, const NodeSize& size);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_PAGE_GRAPH_LAYOUT_H_
