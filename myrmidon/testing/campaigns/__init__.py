"""Campaigns: a scenario is explored with the options of a command or a test run, and reported.

schema_changes      a spec from a schema, and a change of each field
generated_scenario  a scenario from samples: create, change each field, delete
campaign            an exploration with progress, chosen faults and seeds
plan_words          faults in plain words
narrative           the steps of a run: when, who, what, and what the controller believed
failure_text        a failure for the terminal
pages               the style of HTML pages
timeline            a failure as an HTML page with lanes
reference_states    the state of a controller at each moment of the run without faults
coverage            which faults had an effect in which state, transition and write
coverage_views      coverage for the terminal and as an HTML page
report_files        the files of a report directory

``myrmidon simulate`` and the pytest plugin use it; ``testing.simulation`` runs the scenarios.
"""

__all__: list[str] = []
