"""What the pages show, and its export.

sources         a running manager, or a recording that was exported
stories         recorded passes, objects and machines as JSON
recordings      an export: its format, and a source that reads it
recorded_words  an object of an export in words
cause_texts     the cause of a pass in words
"""
