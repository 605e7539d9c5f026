#include "runtime/data/data_source.h"

#include <algorithm>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "proto/config/image_data.pb.h"
#include "proto/file/text_message.h"
#include "runtime/data/array_samples.h"
#include "runtime/data/image_file_samples.h"
#include "runtime/data/image_samples.h"
#include "runtime/data/image_set.h"
#include "runtime/error_place.h"

namespace fixpoint {
namespace {

absl::StatusOr<NpyFiles> ParseNpyFiles(absl::string_view text, absl::string_view list) {
  NpyFiles files;
  for (absl::string_view item : absl::StrSplit(list, ',')) {
    const std::vector<std::string> parts = absl::StrSplit(item, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", text, "\" has \"", item, "\"; want npy:NAME=FILE,NAME=FILE"));
    }
    const bool is_repeated =
        std::any_of(files.names_and_paths.begin(), files.names_and_paths.end(),
                    [&](const auto& known) { return known.first == parts[0]; });
    if (is_repeated) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", text, "\" names \"", parts[0], "\" twice; want one file for it"));
    }
    files.names_and_paths.emplace_back(parts[0], parts[1]);
  }
  return files;
}

template <typename Samples>
absl::StatusOr<std::unique_ptr<SampleSet>> OnHeap(absl::StatusOr<Samples> samples) {
  RETURN_IF_ERROR(samples.status());
  return std::make_unique<Samples>(*std::move(samples));
}

absl::StatusOr<ImageSamples> OpenImages(const DataSetName& name, DataPart part) {
  ASSIGN_OR_RETURN(ImageSet images,
                   part == DataPart::kTraining ? LoadTrainingSet(name) : LoadTestSet(name));
  return ImageSamples::Create(std::move(images));
}

absl::StatusOr<ImageFileSamples> OpenImageFiles(const ImagesPath& images) {
  const std::filesystem::path path(images.path);
  const std::string folder = path.parent_path().string();
  if (path.extension() != ".textproto") {
    ImageData data;
    data.set_images(path.filename().string());
    return ImageFileSamples::Open(data, folder);
  }
  ImageData data;
  RETURN_IF_ERROR(LoadTextMessage(images.path, &data));
  absl::StatusOr<ImageFileSamples> samples = ImageFileSamples::Open(data, folder);
  if (!samples.ok()) return Prefixed(absl::StrCat(images.path, ": "), samples.status());
  return samples;
}

}  // namespace

absl::StatusOr<DataSource> ParseDataSource(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "images:") && !rest.empty()) {
    return ImagesPath{std::string(absl::StripSuffix(rest, "/"))};
  }
  if (absl::ConsumePrefix(&rest, "npz:") && !rest.empty()) return NpzFile{std::string(rest)};
  if (absl::ConsumePrefix(&rest, "npy:")) return ParseNpyFiles(text, rest);
  const absl::StatusOr<DataSetName> name = ParseDataSetName(text);
  if (!absl::IsNotFound(name.status())) return name;
  return absl::InvalidArgumentError(absl::StrCat(
      name.status().message(), "; or, of your own, images:PATH, npz:FILE or npy:NAME=FILE,..."));
}

bool IsOfImages(const DataSource& source) {
  return std::holds_alternative<DataSetName>(source) || std::holds_alternative<ImagesPath>(source);
}

bool HasTestPart(const DataSource& source) { return std::holds_alternative<DataSetName>(source); }

std::vector<std::string> FilesOf(const DataSource& source) {
  std::vector<std::string> files;
  if (const auto* images = std::get_if<ImagesPath>(&source)) files = {images->path};
  if (const auto* npz = std::get_if<NpzFile>(&source)) files = {npz->path};
  if (const auto* npy = std::get_if<NpyFiles>(&source)) {
    for (const auto& [name, path] : npy->names_and_paths) files.push_back(path);
  }
  return files;
}

absl::StatusOr<std::unique_ptr<SampleSet>> OpenSamples(const DataSource& source, DataPart part) {
  if (const auto* images = std::get_if<ImagesPath>(&source)) {
    return OnHeap(OpenImageFiles(*images));
  }
  if (const auto* npz = std::get_if<NpzFile>(&source)) {
    return OnHeap(ArraySamples::OpenNpz(npz->path));
  }
  if (const auto* npy = std::get_if<NpyFiles>(&source)) {
    return OnHeap(ArraySamples::OpenNpy(npy->names_and_paths));
  }
  return OnHeap(OpenImages(std::get<DataSetName>(source), part));
}

}  // namespace fixpoint
