"""The check of a graph document: every problem at once, each with its place and its remedy.

`document.check` is the entrance and shows the order: ids and ends (`names`), the parameters of each
node (`parameters`) and its links (`links`), then, on the structure, edges (`edges`), reach and
scopes (`scopes`), and the names in expressions (`references`). Errors keep a document from running;
warnings never do. The checks read the document, its structure and the catalogue; they compile
nothing.
"""
