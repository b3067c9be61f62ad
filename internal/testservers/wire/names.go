package wire

import "slices"

// oldNames are the versions that SERVERS=newest leaves out.
var oldNames = []string{"kafka39", "kafka28", "hbase24", "hbase22", "hbase17", "rocketmq49", "rocketmq49acl"}

// Old says whether SERVERS=newest leaves this server out.
func Old(name string) bool { return slices.Contains(oldNames, name) }
