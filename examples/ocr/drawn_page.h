// Pages of text that are drawn, with what is on them: words of kFont in lines, a little turned, on
// a ground with a gradient, noise and other colors on each page.

#ifndef FIXPOINT_EXAMPLES_OCR_DRAWN_PAGE_H_
#define FIXPOINT_EXAMPLES_OCR_DRAWN_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "examples/ocr/geometry.h"
#include "examples/ocr/image.h"

namespace fixpoint {
namespace ocr {

struct PageOptions {
  int64_t height = 192;
  int64_t width = 256;
  int64_t most_lines = 4;
  int64_t most_characters = 7;  // of a line
  double most_degrees = 3;      // that a page is turned by, to either side
  double upside_down = 0;       // the share of pages whose lines are
};

struct DrawnLine {
  Corners box;              // of the glyphs and a margin; the first is the top left one of the text
  std::vector<int> glyphs;  // their places in kFont
};

struct DrawnPage {
  Image image;
  std::vector<DrawnLine> lines;  // from top to bottom of the page the right way up
};

// The margin around glyphs in a line's box, in cells of the font.
inline constexpr double kMargin = 1.5;

// The page of a seed. There may be fewer lines, or none, where there is no room.
DrawnPage DrawPage(uint64_t seed, const PageOptions& options = {});

// Pages that are no samples of training, of numbers from 0 on, with their lines from top to bottom;
// every fifth one is upside down.
inline constexpr int kPagesToRead = 10;
DrawnPage DrawPageToRead(int number);

std::string TextOf(const DrawnLine& line);

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_DRAWN_PAGE_H_
