"""The live page: every machine, every object and every reason, in a browser.

recording/   what a page shows: a running manager, or a recording that was exported
pages/       the overview, the page of one object, and their parts
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
