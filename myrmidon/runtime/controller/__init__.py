"""One controller in a process.

run                 waiting for its kinds, start, removal
loop                its view of the cluster, its queue, its workers
gauges              gauges that are computed when the metrics are scraped
namespace_follower  namespaces that are chosen by their labels
"""
