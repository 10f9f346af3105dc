"""The simulator: a scenario is run again and again, with every fault at every moment.

The parts of one run, from the inside out:

loop            virtual time; callbacks belong to incarnations of processes, which can die or stop
clocks          the clock of a process, whose time of day may jump
embedded        the server: built once, rolled back for each run; its webhook and collector
trace           what happened, and the hash of it
requests        what a request is about
triggers        when a fault happens
actions         what a fault does
plan            the faults of a run, with a JSON form
stage           a run and its processes, as the parts below them see them
director        counts moments, says which faults are due, knows which had an effect
staleness       how far behind the server a process is, per kind
interruptions   gaps in watches, refused watches, lists in pages that expire
schedules       other orders of answers and callbacks
healing         undoes the faults that last; how a run recovers
gate            the transport of a process, where faults happen
meddling        the changes that another client makes to an object
cluster_faults  malformed objects; definitions that change or vanish
outages         a part that stays broken for ever
disturbances    the faults of the world: edits, leases, webhooks, rights
externals       external systems as part of the world
programs        what a process runs: a manager, or a plain program
processes       incarnations: start, crash, restart, pause
edits           several edits of a user as one
world           the objects, as predicates see them
fairness        the time in which no fault was in force
monitors        always, never, eventually, leads_to
user            the steps of the scenario
run             one execution of a scenario: all parts together
simulation      what a scenario sees as ``sim``
normalisation   objects without what differs between any two runs
result          what a run showed
story           a run in plain sentences
oracles/        what must hold in every run
execution       a pure function from scenario, seed and plan to a result
scenarios       the decorator, and scenarios of controllers

Many runs:

simulating      ``simulate``: one run, compared with its references
same_time       runs of a controller that plans work for later end at the same virtual time
references      runs without faults, which all others are compared with
start_states    worlds that a new process meets although no process left them so
world_plans     faults that belong to no single write or event
enumeration     every fault of depth one at every moment, and pairs
swarm           random plans from a seed
explorer        the phases of an exploration, budgets and processes
workers         processes that run plans for an exploration
shrinking       from a plan that fails to the shortest one
plan_strategies Hypothesis strategies for plans, and a rule-based machine
artefact        a failure as a JSON file, and its replay
"""

from myrmidon.testing.simulation.artefact import artefact_of, replay
from myrmidon.testing.simulation.execution import execute
from myrmidon.testing.simulation.explorer import SimulationReport, explore
from myrmidon.testing.simulation.externals import SimulatedExternal
from myrmidon.testing.simulation.plan import Plan, PlannedFault
from myrmidon.testing.simulation.result import SimulationError, SimulationFailure, SimulationResult
from myrmidon.testing.simulation.scenarios import Scenario
from myrmidon.testing.simulation.simulating import simulate
from myrmidon.testing.simulation.simulation import Simulation
from myrmidon.testing.simulation.world import World

__all__ = [
    "Plan",
    "PlannedFault",
    "Scenario",
    "SimulatedExternal",
    "Simulation",
    "SimulationError",
    "SimulationFailure",
    "SimulationReport",
    "SimulationResult",
    "World",
    "artefact_of",
    "execute",
    "explore",
    "replay",
    "simulate",
]
