"""Resources outside the cluster that an object owns."""
