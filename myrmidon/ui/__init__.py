"""The live page: every machine, every object and every reason, in a browser.

sources      what a page shows: a running manager, or a recording that was exported
stories      recorded passes, objects and machines as JSON: the words of pages and exports
board        one row for each object, and how many objects are in each state
cause_texts  what woke a pass, in words
drawings     the graph of a controller, and the edges that a pass walked
history_view all objects as they were at an earlier pass
recordings   an export: its format, and a source that reads it
recorded_words  an object of an export in words
simulations  the artefact of a failed simulation
markup       HTML from text: the only place that escapes, and the frame of each page
overview     the page of all controllers and objects
object_page  the page of one object; object_cards: what it shows beside the history
access       the token, the cookie, and the headers that keep other origins out
actions      patch, delete, suspend and requeue an object, where that is allowed
server       the routes, and the stream of events
static/      style and script; no build step

Pages are rendered here and escaped in one place.  The script adds what needs to move: it listens to
server-sent events, fetches parts of pages again, and draws the list of objects.  Nothing below this
package knows it.
"""

from myrmidon.ui.server import LivePage, serve_page

__all__ = ["LivePage", "serve_page"]
