"""The pages, rendered on the server.

overview      the page of all controllers and objects
object_page   the page of one object; ``object_cards`` are its parts
board         one row for each object, and how many objects are in each state
drawings      the graph of a controller, and the edges that a pass walked
history_view  all objects as they were at an earlier pass
simulations   the artefact of a failed simulation
markup        HTML from text: the only place that escapes, and the frame of each page
"""
