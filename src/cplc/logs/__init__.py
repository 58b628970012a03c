"""Event logs: readers of JSON lines, JSON, CSV, XES and OCEL 2.0, and the mapping to the terms of a protocol.

``reading.read(source, form, mapping, start=0, more=None)`` yields events and garbage in the order of the log, and holds
one record at a time. ``start`` is the `offset` of the last processed record. ``more`` is called at the end of the log:
true means to read again; a caller that follows a growing log waits in it.
"""
