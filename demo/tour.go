package demo

// Step is one command of the tour: what it shows, what is typed behind "offsetctl", and how it must end.
type Step struct {
	Say  string
	Args []string
	Exit int
}

// Tour is the main job from the first look to the last undo.
func Tour() []Step {
	return []Step{
		{"Every group of the cluster, the worst next to your prompt. What could not be measured is unknown, never zero: exit 3.",
			args("inspect", "-A"), 3},
		{"One group in detail: what is wrong with each partition, what a restart would do, and the command that repairs it.",
			args("inspect", "-g", "billing"), 1},
		{"What would a repair do? It moves only what is broken and only where the right place is beyond doubt.",
			args("reset", "-g", "billing", "-t", "orders", "--repair", "--dry-run"), 0},
		{"Do it. The plan is shown, the journal written, then the group, and what was written is read back.",
			args("reset", "-g", "billing", "-t", "orders", "--repair", "--yes", "--reason", "demo"), 0},
		{"Take it back.", args("undo", "--yes"), 0},
		{"Past the log end nobody can tell where to go on, so --repair refuses and names the choices with their cost.",
			args("reset", "-g", "billing", "-t", "refunds", "--repair", "--yes"), 4},
		{"You choose.", args("reset", "-g", "billing", "-t", "refunds", "--to-earliest", "--yes"), 0},
		{"Replaying since a time must not skip anything by the way: orders:1 and orders:3 would jump over unread records. Refused.",
			args("reset", "-g", "billing", "-t", "orders:0-3", "--to-time", "-2h", "--yes"), 4},
		{"The same, never forward.", args("reset", "-g", "billing", "-t", "orders:0-3", "--to-time", "-2h", "--rewind-only", "--yes"), 0},
		{"A live group is refused, with its members and hosts: Kafka takes no outside commit, and nothing can force it.",
			args("reset", "-g", "shop", "-t", "payments", "--to-earliest", "--yes"), 4},
		{"The same eyes on a job that keeps its offsets in a table of its own; the context says where.",
			args("inspect", "-g", "etl"), 1},
		{"Repair there: the value that is no number needs your word; the other columns of the row stay as they are.",
			args("reset", "-g", "etl", "-t", "orders", "--repair", "--on-invalid", "earliest", "--yes", "--settle", "1s"), 0},
		{"And back, the unusable value too.", args("undo", "5", "--yes", "--settle", "1s"), 0},
		{"Everything that was written, newest first.", args("history"), 0},
	}
}

func args(a ...string) []string { return a }
