"""`onward credentials`: the secrets that workflows name. No command ever prints a value.

`file_store` holds the group and the commands on the encrypted file; `server_store` those on the
credentials of an engine, on a server or in the file of `onward dev`; `fields` reads the fields of a
credential. Read `file_store` first.
"""
