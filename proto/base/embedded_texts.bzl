"""Text files of the repository that are part of a library."""

def embedded_texts(name, srcs, out):
    """Writes rows {"NAME", "TEXT"} that a .cc file includes, one for each file.

    Args:
      name: the rule's name.
      srcs: text files; NAME is that of the file, without its ending.
      out: the file with the rows.
    """
    native.genrule(
        name = name,
        srcs = srcs,
        outs = [out],
        cmd = """for file in $(SRCS); do
            name=$${file##*/}
            printf '{"%s", R"EMBEDDED(' "$${name%.*}"
            cat "$$file"
            printf ')EMBEDDED"},\\n'
        done > $@""",
    )
