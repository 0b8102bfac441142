"""A hook of mkdocs (mkdocs.yml): pages link to files of the checkout beside docs/, which no site has. Of such a link the words stay,
as in installed documents (cmake/stage.cmake)."""

import posixpath
import re


def on_page_markdown(markdown, page, **_):
    def kept(found):
        target = found[2].partition("#")[0]
        if not target or re.match(r"\w+:", target):
            return found[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_path), target))
        return found[1] if place.startswith("..") or not posixpath.splitext(place)[1] else found[0]

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", kept, markdown)
