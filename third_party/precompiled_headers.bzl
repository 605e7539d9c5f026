"""The headers of Debian's libraries, parsed once for all sources."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_headers_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)

    # Optimised builds read the headers themselves, and so see that each source includes what it
    # uses; clang wants another format.
    if "gcc" not in toolchain.compiler_executable or ctx.var["COMPILATION_MODE"] != "fastbuild":
        return [CcInfo()]

    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = "c++-compile",
        variables = cc_common.create_compile_variables(
            cc_toolchain = toolchain,
            feature_configuration = features,
            quote_include_directories = depset([ctx.label.workspace_root or "."]),
            use_pic = True,
            user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts,
        ),
    )
    output = ctx.actions.declare_file("%s/%s.gch" % (ctx.label.name, ctx.attr.stands_for))
    arguments = ctx.actions.args()
    arguments.add_all(flags)
    arguments.add_all(["-x", "c++-header", "-c", ctx.file.hdr, "-o", output])
    ctx.actions.run(
        executable = toolchain.compiler_executable,
        arguments = [arguments],
        env = {"PATH": "/bin:/usr/bin"},
        inputs = depset([ctx.file.hdr] + ctx.files.includes, transitive = [toolchain.all_files]),
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling " + ctx.file.hdr.short_path,
    )
    folder = depset([output.dirname])
    return [CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset([output]),
        quote_includes = folder if ctx.attr.preferred else depset(),
        system_includes = depset() if ctx.attr.preferred else folder,
    ))]

precompiled_headers = rule(
    doc = """Gives sources that depend on it `hdr`, precompiled, where they include `stands_for` first.

gcc ignores it, and reads `stands_for`, in a source that has other flags than this was made with.
Only builds in mode fastbuild with gcc have it.
""",
    implementation = _precompiled_headers_impl,
    attrs = {
        "hdr": attr.label(mandatory = True, allow_single_file = [".h"]),
        "includes": attr.label_list(allow_files = [".h"], doc = "Headers of this workspace that `hdr` includes."),
        "preferred": attr.bool(doc = "Whether it wins over one that is not preferred."),
        "stands_for": attr.string(mandatory = True, doc = "A system header that is empty in C++ and that no other header includes."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
