"""A header with the checksum of the headers that a library brings."""

def _headers_checksum_impl(ctx):
    """Of the names and contents of headers of this workspace, generated ones among them."""
    headers = [
        header
        for header in depset(transitive = [
            dep[CcInfo].compilation_context.headers
            for dep in ctx.attr.deps
        ]).to_list() + ctx.files.headers
        if header.owner.workspace_name == ctx.label.workspace_name and header.extension in ["h", "inc"]
    ]
    listed = ctx.actions.declare_file(ctx.label.name + ".list")
    lines = []
    for header in headers:
        name = header.short_path
        if name.startswith("../"):
            name = name.split("/", 2)[2]
        lines.append("%s %s" % (name, header.path))
    ctx.actions.write(listed, "\n".join(sorted(lines)) + "\n")
    ctx.actions.run_shell(
        inputs = headers + [listed],
        outputs = [ctx.outputs.out],
        command = """
            checksum=$(while read -r name path; do
                echo "$name"
                cat "$path"
            done < "$1" | sha256sum | cut -c1-16)
            printf '#define %s "%s"\\n' "$2" "$checksum" > "$3"
        """,
        arguments = [listed.path, ctx.attr.macro, ctx.outputs.out.path],
        mnemonic = "HeadersChecksum",
        progress_message = "Adding up the headers for " + ctx.outputs.out.short_path,
    )

headers_checksum = rule(
    implementation = _headers_checksum_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "headers": attr.label_list(allow_files = [".h"], doc = "More headers."),
        "macro": attr.string(mandatory = True, doc = "What the header defines as the checksum."),
        "out": attr.output(mandatory = True),
    },
)
