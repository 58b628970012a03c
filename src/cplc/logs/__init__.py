"""What happened, read from logs in the terms of a protocol.

``reading.read(source, form, mapping, start=0, more=None)`` yields events and garbage in the order of the log, and holds
one record at a time. ``start`` is the `offset` of the last one that was dealt with; ``more`` is asked at the end of the
log: true means to look again whether it has grown, which is when who follows it waits.
"""
