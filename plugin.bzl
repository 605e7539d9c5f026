"""Plugins, which tools load with --plugin (docs/plugins.md), and tools that load them.

A tool and its plugins share one copy of Fixpoint, the tool's: a tool that loads plugins holds all of
Fixpoint's API, and a plugin holds only what is its own.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def fixpoint_plugin(name, srcs = [], deps = [], **kwargs):
    """A plugin NAME.so.

    Args:
      name: without ".so".
      srcs: sources; one of them, or of deps with alwayslink, has FIXPOINT_PLUGIN.
      deps: libraries; what they take of Fixpoint is the tool's.
      **kwargs: of the cc_binary.
    """
    _beside_host(
        name = name + "_beside_host",
        testonly = kwargs.get("testonly", False),
        deps = deps + [Label("//:fixpoint")],
        visibility = ["//visibility:private"],
    )
    native.cc_binary(
        name = name + ".so",
        srcs = srcs,
        linkshared = True,
        deps = [":" + name + "_beside_host"],
        **kwargs
    )

def _beside_host_impl(ctx):
    infos = [dep[CcInfo] for dep in ctx.attr.deps]
    of_host = {
        library_input.owner: True
        for library_input in ctx.attr._host[CcInfo].linking_context.linker_inputs.to_list()
    }
    own = [
        library_input
        for library_input in cc_common.merge_cc_infos(
            cc_infos = infos,
        ).linking_context.linker_inputs.to_list()
        if library_input.owner not in of_host
    ]
    return [CcInfo(
        compilation_context = cc_common.merge_cc_infos(cc_infos = infos).compilation_context,
        # In the order of linking, a library before those that it needs.
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset(own, order = "topological"),
        ),
    )]

_beside_host = rule(
    doc = "What libraries need beside Fixpoint's: their headers, and what is linked of them into a plugin.",
    implementation = _beside_host_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "_host": attr.label(default = "//:fixpoint", providers = [CcInfo]),
    },
)

def _whole_libraries_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    merged = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    inputs = []
    for linker_input in merged.linking_context.linker_inputs.to_list():
        libraries = []
        for library in linker_input.libraries:
            if library.static_library == None and library.pic_static_library == None:
                libraries.append(library)
                continue
            libraries.append(cc_common.create_library_to_link(
                actions = ctx.actions,
                feature_configuration = features,
                cc_toolchain = toolchain,
                static_library = library.static_library,
                pic_static_library = library.pic_static_library,
                alwayslink = True,
            ))
        inputs.append(cc_common.create_linker_input(
            owner = linker_input.owner,
            libraries = depset(libraries),
            user_link_flags = depset(linker_input.user_link_flags),
            additional_inputs = depset(linker_input.additional_inputs),
        ))
    return [CcInfo(
        compilation_context = merged.compilation_context,
        linking_context = cc_common.create_linking_context(linker_inputs = depset(inputs)),
    )]

_whole_libraries = rule(
    doc = "Libraries of which all is linked, and not only what the binary itself calls.",
    implementation = _whole_libraries_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def plugin_host(name, srcs = [], deps = [], linkopts = [], **kwargs):
    """A binary that can load plugins: it holds all of Fixpoint's API, and exports it.

    Args:
      name: of the binary.
      srcs: sources.
      deps: libraries.
      linkopts: more options for the linker.
      **kwargs: of the cc_binary.
    """
    _whole_libraries(
        name = name + "_whole",
        testonly = kwargs.get("testonly", False),
        deps = deps + [Label("//:fixpoint")],
        visibility = ["//visibility:private"],
    )
    native.cc_binary(
        name = name,
        srcs = srcs,
        linkopts = linkopts + ["-rdynamic"],
        deps = [":" + name + "_whole"],
        **kwargs
    )
