# Rules of mdl for the documents; tests/markdown.py runs it.
all
exclude_rule "MD013"  # tests/documents.py measures lines and cells
exclude_rule "MD014"  # a command that prints nothing stands behind `$` as well: tests type these blocks
exclude_rule "MD031"  # a comment that a test reads stands directly above its block
exclude_rule "MD038"  # ` *` with its space is what the page speaks about
exclude_rule "MD046"  # a block inside of an item is indented
rule "MD029", :style => :ordered
