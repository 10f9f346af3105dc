"""Writes of outputs, and what is remembered about our own writes.

applicator      writes the outputs of a state
output_task     one output that an applicator is writing
cached_objects  what an applicator needs of the caches
replacing       deletes an object that can only be changed by creating it again
own_writes      own writes: shown at once, their watch events recognised, lost answers
sent_writes     what is noted of each write, and where
drift           which writes correct a change of another writer
stall_guard     slows down writes that another client reverts, and creations that it deletes, each time
bounded_memory  a memory for the objects that exist, which forgets the others
"""
