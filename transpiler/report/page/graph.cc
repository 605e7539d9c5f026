#include "transpiler/report/page/graph.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "proto/base/utf8.h"
#include "transpiler/report/layers.h"
#include "transpiler/report/page/graph_layout.h"
#include "transpiler/report/page/numbers.h"

namespace fixpoint {
namespace {

constexpr size_t kChainsOfPart = 40;
constexpr NodeSize kNode = {224, 46, 22, 30};
constexpr double kMargin = 14;
constexpr size_t kLettersOfTypes = 26;
constexpr size_t kLettersOfOutput = 22;

// The text with its middle left out where it has more characters: names differ at their ends.
std::string Shortened(absl::string_view text, size_t most) {
  std::vector<absl::string_view> letters;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(Utf8SequenceLength(text), 1);
    letters.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  std::string shortened;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters.size() > most && i == most / 2) {
      shortened += "\xe2\x80\xa6";
      i += letters.size() - most;
      continue;
    }
    absl::StrAppend(&shortened, letters[i]);
  }
  return shortened;
}

std::string TypesText(const RunReport& report, const std::vector<int>& chain) {
  std::string text;
  for (const int op : chain) {
    absl::StrAppend(&text, text.empty() ? "" : " + ", report.ops(op).type());
  }
  return text;
}

absl::string_view StateClass(OpState state) {
  switch (state) {
    case OpState::kIntegers:
      return "integers";
    case OpState::kQuantized:
      return "quantized";
    case OpState::kEdge:
      return "edge";
    case OpState::kFloat:
      return "float";
    case OpState::kUndecided:
      return "undecided";
  }
  return "";
}

std::string Coordinate(double number) { return absl::StrFormat("%.1f", number + kMargin); }

// A smooth line from point to point, vertical at each.
std::string PathOf(const std::vector<Point>& points) {
  std::string path = absl::StrCat("M", Coordinate(points[0].x), " ", Coordinate(points[0].y));
  for (size_t i = 1; i < points.size(); ++i) {
    const double middle = (points[i - 1].y + points[i].y) / 2;
    absl::StrAppend(&path, "C", Coordinate(points[i - 1].x), " ", Coordinate(middle), " ",
                    Coordinate(points[i].x), " ", Coordinate(middle), " ", Coordinate(points[i].x),
                    " ", Coordinate(points[i].y));
  }
  return path;
}

// A part of a graph: chains [begin, end).
class GraphPart {
 public:
  GraphPart(const RunView& run, const std::vector<std::vector<int>>& chains,
            const std::vector<size_t>& chain_of, size_t begin, size_t end)
      : run_(run),
        report_(*run.report),
        chains_(chains),
        chain_of_(chain_of),
        begin_(begin),
        end_(end) {}

  void Draw(Html* html) const {
    std::vector<GraphEdge> edges;
    std::vector<bool> reads_earlier(end_ - begin_);
    for (size_t i = begin_; i < end_; ++i) {
      std::vector<size_t> sources;
      for (const int op : chains_[i]) {
        for (const int read : report_.ops(op).reads()) {
          sources.push_back(chain_of_[static_cast<size_t>(read)]);
        }
      }
      std::sort(sources.begin(), sources.end());
      sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
      for (const size_t source : sources) {
        if (source < begin_) reads_earlier[i - begin_] = true;
        if (source >= begin_ && source != i) {
          edges.push_back({static_cast<int>(source - begin_), static_cast<int>(i - begin_)});
        }
      }
    }
    const PlacedGraph placed = PlaceGraph(static_cast<int>(end_ - begin_), edges, kNode);
    html->Open(
        "div",
        {{"class", "scrolls"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", "Graph"}});
    html->Open("svg", {{"class", "graph"},
                       {"width", absl::StrFormat("%.0f", placed.width + 2 * kMargin)},
                       {"height", absl::StrFormat("%.0f", placed.height + 2 * kMargin)}});
    for (const std::vector<Point>& edge : placed.edges) {
      html->Void("path", {{"class", "flow"}, {"d", PathOf(edge)}});
    }
    for (size_t i = begin_; i < end_; ++i) {
      const Point corner = placed.nodes[i - begin_];
      if (reads_earlier[i - begin_]) {
        const Point top{corner.x + kNode.width / 2, corner.y};
        html->Void("path",
                   {{"class", "flow stub"}, {"d", PathOf({{top.x, top.y - kMargin}, top})}});
      }
      DrawChain(chains_[i], corner, html);
    }
    html->Close().Close();
  }

 private:
  // The op that tells the most about a chain: the first layer, else the first op.
  int ShownOf(const std::vector<int>& chain) const {
    for (const int op : chain) {
      if (IsLayer(report_.ops(op))) return op;
    }
    return chain[0];
  }

  void DrawChain(const std::vector<int>& chain, const Point& corner, Html* html) const {
    const int shown = ShownOf(chain);
    const RunReport::Op& op = report_.ops(shown);
    const RunReport::Op& last = report_.ops(chain.back());
    const bool is_layer = IsLayer(op);
    const std::string types = TypesText(report_, chain);
    const OpState state = StateOf(op);
    const std::string kind = absl::StrCat("node ", StateClass(state));
    if (is_layer) {
      html->Open("a", {{"href", absl::StrCat("#", LayerId(run_, shown))}, {"class", kind}});
    } else {
      html->Open("g", {{"class", kind}});
    }
    html->Element("title", absl::StrCat(types, kArrow, last.output(), ", ", StateText(state)));
    html->Void("rect", {{"x", Coordinate(corner.x)},
                        {"y", Coordinate(corner.y)},
                        {"width", absl::StrCat(kNode.width)},
                        {"height", absl::StrCat(kNode.height)},
                        {"rx", "7"}});
    html->Element(
        "text", Shortened(types, kLettersOfTypes),
        {{"class", "types"}, {"x", Coordinate(corner.x + 12)}, {"y", Coordinate(corner.y + 19)}});
    html->Element(
        "text", Shortened(last.output(), kLettersOfOutput),
        {{"class", "output"}, {"x", Coordinate(corner.x + 12)}, {"y", Coordinate(corner.y + 36)}});
    if (op.has_signal_to_noise()) {
      html->Element("text", DecibelText(op.signal_to_noise()),
                    {{"class", "noise"},
                     {"x", Coordinate(corner.x + kNode.width - 10)},
                     {"y", Coordinate(corner.y + 36)}});
    }
    html->Close();
  }

  const RunView& run_;
  const RunReport& report_;
  const std::vector<std::vector<int>>& chains_;
  const std::vector<size_t>& chain_of_;
  const size_t begin_;
  const size_t end_;
};

}  // namespace

std::vector<std::vector<int>> ChainsOf(const RunReport& report) {
  std::vector<int> readers(static_cast<size_t>(report.ops_size()));
  for (const RunReport::Op& op : report.ops()) {
    for (const int read : op.reads()) ++readers[static_cast<size_t>(read)];
  }
  std::vector<std::vector<int>> chains;
  absl::flat_hash_map<int, size_t> ends;  // the chain that an op ends
  for (int i = 0; i < report.ops_size(); ++i) {
    const RunReport::Op& op = report.ops(i);
    const bool follows = op.reads_size() == 1 && !op.quantized() &&
                         readers[static_cast<size_t>(op.reads(0))] == 1 &&
                         op.block() == report.ops(op.reads(0)).block();
    const auto end = follows ? ends.find(op.reads(0)) : ends.end();
    const bool joins = end != ends.end() && IsLayer(report.ops(chains[end->second][0])) &&
                       (!op.has_quantized() || op.lowered() == "in_epilogue");
    const size_t chain = joins ? end->second : chains.size();
    if (!joins) chains.emplace_back();
    chains[chain].push_back(i);
    ends[i] = chain;
  }
  return chains;
}

void DrawGraph(const RunView& run, Html* html) {
  const std::vector<std::vector<int>> chains = ChainsOf(*run.report);
  std::vector<size_t> chain_of(static_cast<size_t>(run.report->ops_size()));
  for (size_t i = 0; i < chains.size(); ++i) {
    for (const int op : chains[i]) chain_of[static_cast<size_t>(op)] = i;
  }
  for (size_t begin = 0; begin < chains.size(); begin += kChainsOfPart) {
    const size_t end = std::min(begin + kChainsOfPart, chains.size());
    const GraphPart part(run, chains, chain_of, begin, end);
    if (chains.size() <= kChainsOfPart) {
      part.Draw(html);
      continue;
    }
    if (begin == 0) {
      html->Open("details", {{"class", "part"}, {"open", "open"}});
    } else {
      html->Open("details", {{"class", "part"}});
    }
    html->Element("summary",
                  absl::StrCat("Ops ", chains[begin].front(), " to ", chains[end - 1].back()));
    part.Draw(html);
    html->Close();
  }
}

}  // namespace fixpoint
