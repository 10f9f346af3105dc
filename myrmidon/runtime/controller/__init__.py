"""One controller in a process.

run                 waiting for its kinds, start, removal
loop                its view of the cluster, its queue, its workers
recording           what is recorded of its passes
gauges              gauges that are computed when metrics are scraped
namespace_follower  namespaces that are chosen by their labels
sharded_passes      the objects of the slices that this process owns
"""
