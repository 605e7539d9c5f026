#include "transpiler/report/page/page.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transpiler/report/page/chart.h"
#include "transpiler/report/page/graph.h"
#include "transpiler/report/page/html.h"
#include "transpiler/report/page/layer_cards.h"
#include "transpiler/report/page/run_view.h"
#include "transpiler/report/page/summary.h"

namespace fixpoint {
namespace {

constexpr char kStyle[] =
#include "transpiler/report/page/page_css.inc"
    ;
constexpr char kScript[] =
#include "transpiler/report/page/page_js.inc"
    ;

std::vector<RunView> ViewsOf(const std::vector<NamedReport>& reports) {
  if (reports.size() == 1) return {{&reports[0].report, "", ""}};
  return {{&reports[0].report, absl::StrCat("A: ", reports[0].name), "a-"},
          {&reports[1].report, absl::StrCat("B: ", reports[1].name), "b-"}};
}

std::string TitleOf(const std::vector<NamedReport>& reports) {
  const auto title = [](const RunReport& report) {
    std::string text = report.tool().empty() ? "run" : report.tool();
    if (!report.program().empty()) absl::StrAppend(&text, " ", report.program());
    if (!report.other().empty()) absl::StrAppend(&text, " and ", report.other());
    return text;
  };
  if (reports.size() == 1) return title(reports[0].report);
  return absl::StrCat(reports[0].name, " and ", reports[1].name);
}

// Runs `write` for each run, under its name, the runs beside each other.
template <typename Write>
void WriteBeside(const std::vector<RunView>& runs, const Write& write, Html* html) {
  html->Open("div", {{"class", runs.size() > 1 ? "beside" : ""}});
  for (const RunView& run : runs) {
    html->Open("div");
    if (!run.name.empty()) html->Element("h3", run.name);
    write(run);
    html->Close();
  }
  html->Close();
}

void WriteCurves(const std::vector<RunView>& runs, Html* html) {
  std::vector<std::pair<std::string, std::vector<Series>>> charts;  // in the order of the curves
  for (const RunView& run : runs) {
    for (const RunReport::Curve& curve : run.report->curves()) {
      size_t i = 0;
      while (i < charts.size() && charts[i].first != curve.name()) ++i;
      if (i == charts.size()) charts.push_back({curve.name(), {}});
      charts[i].second.push_back({run.name, &curve});
    }
  }
  html->Open("div", {{"class", "values"}});
  for (const auto& [name, series] : charts) DrawCurves(name, series, html);
  html->Close();
}

void WriteLegend(Html* html) {
  const std::pair<const char*, const char*> kKinds[] = {{"integers", "on integers or quantized"},
                                                        {"edge", "between floats and codes"},
                                                        {"float", "in float"},
                                                        {"undecided", "as it was"}};
  html->Open("ul", {{"class", "legend"}});
  for (const auto& [kind, text] : kKinds) {
    html->Open("li").Element("i", "", {{"class", kind}}).Text(text).Close();
  }
  html->Close();
}

bool HasCurves(const std::vector<RunView>& runs) {
  for (const RunView& run : runs) {
    if (run.report->curves_size() > 0) return true;
  }
  return false;
}

class Page {
 public:
  explicit Page(const std::vector<NamedReport>& reports)
      : runs_(ViewsOf(reports)), title_(TitleOf(reports)), layers_(MatchLayers(runs_)) {
    sections_.push_back({"summary", "Summary", &Page::WriteSummarySection});
    if (HasCurves(runs_)) sections_.push_back({"training", "Training", &Page::WriteTraining});
    if (!layers_.empty()) {
      sections_.push_back({"advice", "What would help", &Page::WriteAdviceSection});
      sections_.push_back({"layers", "Layers", &Page::WriteLayers});
    }
    if (HasOps()) {
      sections_.push_back({"graph", "Graph", &Page::WriteGraph});
      sections_.push_back({"decisions", "Decisions", &Page::WriteDecisionsSection});
    }
    sections_.push_back({"settings", "Settings", &Page::WriteSettingsSection});
  }

  std::string Write() {
    html_.Open("html", {{"lang", "en"}});
    WriteHead();
    html_.Open("body").Element("a", "Skip to the summary",
                               {{"class", "skip"}, {"href", "#summary"}});
    WriteHeader();
    html_.Open("main");
    for (const Section& section : sections_) {
      html_.Open("section", {{"id", section.id}, {"aria-labelledby", TitleId(section)}});
      html_.Element("h2", section.title, {{"id", TitleId(section)}});
      (this->*section.write)();
      html_.Close();
    }
    html_.Close().Embed("script", kScript);
    return html_.Close().Close().Take();
  }

 private:
  struct Section {
    const char* id;
    const char* title;
    void (Page::*write)();
  };

  static std::string TitleId(const Section& section) { return absl::StrCat(section.id, "-title"); }

  bool HasOps() const {
    for (const RunView& run : runs_) {
      if (run.report->ops_size() > 0) return true;
    }
    return false;
  }

  void WriteHead() {
    html_.Open("head").Void("meta", {{"charset", "utf-8"}});
    html_.Void("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
    html_.Void("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
    html_.Element("title", title_).Embed("style", kStyle).Close();
  }

  void WriteHeader() {
    html_.Open("header").Open("div", {{"class", "inner"}});
    html_.Element("p", runs_.size() == 1 ? "Run report" : "Two runs", {{"class", "kind"}});
    html_.Element("h1", title_);
    html_.Open("nav", {{"aria-label", "Sections"}}).Open("ul");
    for (const Section& section : sections_) {
      html_.Open("li").Element("a", section.title, {{"href", absl::StrCat("#", section.id)}});
      html_.Close();
    }
    html_.Close().Close().Close().Close();
  }

  void WriteSummarySection() { WriteSummary(runs_, &html_); }
  void WriteTraining() { WriteCurves(runs_, &html_); }
  void WriteAdviceSection() {
    WriteBeside(
        runs_, [this](const RunView& run) { WriteAdvice(run, &html_); }, &html_);
  }
  void WriteLayers() {
    WriteLayerTable(runs_, layers_, &html_);
    html_.Element("h3", "Each layer");
    html_.Element("p",
                  "Histograms have logarithmic counts; dashed lines are the ends of the range that "
                  "the codes stand for, and what lies beyond is clipped.",
                  {{"class", "hint"}});
    WriteLayerCards(runs_, layers_, &html_);
  }
  void WriteGraph() {
    WriteLegend(&html_);
    WriteBeside(
        runs_, [this](const RunView& run) { DrawGraph(run, &html_); }, &html_);
  }
  void WriteDecisionsSection() {
    WriteBeside(
        runs_, [this](const RunView& run) { WriteDecisions(run, &html_); }, &html_);
  }
  void WriteSettingsSection() { WriteSettings(runs_, &html_); }

  const std::vector<RunView> runs_;
  const std::string title_;
  const std::vector<Layer> layers_;
  std::vector<Section> sections_;
  Html html_;
};

}  // namespace

std::string ReportPage(const std::vector<NamedReport>& reports) { return Page(reports).Write(); }

}  // namespace fixpoint
