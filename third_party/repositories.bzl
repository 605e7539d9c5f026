"""Every external repository of the build: Debian's libraries, and oneDNN's wheel where needed.

A workspace that uses this one as @fixpoint calls the same function (examples/out_of_tree).
"""

load("//third_party:bazel_stubs.bzl", "bazel_stubs")
load("//third_party:onednn.bzl", "onednn")
load("//third_party:reference_data.bzl", "reference_data")
load("//third_party:system_library.bzl", "system_library")

def fixpoint_repositories():
    """Declares the repositories; nothing is fetched until a target needs it."""

    # Debian's Bazel has no release number and ships no rules_*; an upstream
    # Bazel has both and fetches its own.
    if not native.bazel_version:
        bazel_stubs()

    system_library(
        name = "protobuf",
        debian_packages = ["libprotobuf-dev", "protobuf-compiler"],
        headers = ["google/protobuf/message.h"],
        modules = {"protobuf": "protobuf"},
        tools = ["protoc"],
        trees = ["google/protobuf"],
        build_file_content = """
load("@fixpoint//third_party:proto.bzl", "WELL_KNOWN_PROTOS")

[proto_library(
    name = name + "_proto",
    srcs = ["google/protobuf/%s.proto" % name],
    deps = [":" + dep + "_proto" for dep in deps],
    strip_import_prefix = "/",
) for name, deps in WELL_KNOWN_PROTOS.items()]

proto_lang_toolchain(
    name = "cc_toolchain",
    blacklisted_protos = [":" + name + "_proto" for name in WELL_KNOWN_PROTOS],
    command_line = "--cpp_out=$(OUT)",
    runtime = ":protobuf",
)
""",
    )

    system_library(
        name = "absl",
        debian_packages = ["libabsl-dev"],
        headers = ["absl/status/status.h"],
        modules = {
            "btree": "absl_btree",
            "cleanup": "absl_cleanup",
            "flat_hash_map": "absl_flat_hash_map",
            "flat_hash_set": "absl_flat_hash_set",
            "function_ref": "absl_function_ref",
            "hash": "absl_hash",
            "inlined_vector": "absl_inlined_vector",
            "optional": "absl_optional",
            "span": "absl_span",
            "status": "absl_status",
            "statusor": "absl_statusor",
            "str_format": "absl_str_format",
            "strings": "absl_strings",
            "synchronization": "absl_synchronization",
            "time": "absl_time",
        },
    )

    system_library(
        name = "gflags",
        debian_packages = ["libgflags-dev"],
        headers = ["gflags/gflags.h"],
        modules = {"gflags": "gflags"},
    )

    system_library(
        name = "glog",
        debian_packages = ["libgoogle-glog-dev"],
        headers = ["glog/logging.h"],
        modules = {"glog": "libglog"},
    )

    system_library(
        name = "googletest",
        debian_packages = ["libgtest-dev", "libgmock-dev"],
        headers = [
            "gtest/gtest.h",
            "gmock/gmock.h",
        ],
        modules = {
            "gmock": "gmock",
            "gtest": "gtest",
            "gtest_main": "gtest_main",
        },
        precompiled = "@fixpoint//third_party:precompiled_test_headers",
    )

    system_library(
        name = "benchmark",
        debian_packages = ["libbenchmark-dev"],
        headers = ["benchmark/benchmark.h"],
        modules = {"benchmark": "benchmark"},
    )

    system_library(
        name = "turbojpeg",
        debian_packages = ["libturbojpeg0-dev"],
        headers = ["turbojpeg.h"],
        modules = {"turbojpeg": "libturbojpeg"},
    )

    system_library(
        name = "libpng",
        debian_packages = ["libpng-dev"],
        headers = ["png.h"],
        modules = {"libpng": "libpng"},
    )

    system_library(
        name = "libyaml",
        debian_packages = ["libyaml-dev"],
        headers = ["yaml.h"],
        modules = {"libyaml": "yaml-0.1"},
    )

    system_library(
        name = "libelf",
        debian_packages = ["libelf-dev"],
        headers = ["gelf.h"],
        modules = {"libelf": "libelf"},
    )

    system_library(
        name = "zlib",
        debian_packages = ["zlib1g-dev"],
        headers = ["zlib.h"],
        modules = {"zlib": "zlib"},
    )

    onednn(
        name = "onednn",
        requirements = Label("//third_party:onednn_requirements.txt"),
    )

    reference_data(name = "reference_data")
