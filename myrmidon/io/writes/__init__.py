"""Writes of outputs, and what is remembered about our own writes.

applicator      writes the outputs of a state
output_task     one output that an applicator is writing
cached_objects  the reads of an applicator that cost no request
own_writes      own writes: shown at once, their watch events recognised, lost answers
sent_writes     what listeners are told of each write
drift           which writes correct a change of another writer
stall_guard     slows down writes that another writer reverts each time
"""
