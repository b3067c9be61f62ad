package inspect

// cause is one way to be wrong. It picks the words and the repair; its verdict is what is shown.
type cause uint8

const (
	positionUnknown cause = iota
	boundsUnknown
	groupUnknown
	topicUnknown
	ambiguous
	noPosition
	pastEnd
	pastEndAnew
	pastEndCut
	beforeStart
	topicAnew
	storeDoubts
	epochAbove
	epochCut
	epochDoubt
	epochWrong
	youngerRecord
	logShrank
	differentSubscriptions
	noPartition
	vanished
	absentBeside
	absentTopic
	absentUnsure
	nothingStored
	groupGone
	noMovement
	movedBack
	oldUnread
	oldPosition
	nearlyGone
	muchUnread
)

var causeVerdicts = [...]Verdict{
	positionUnknown: Unknown, boundsUnknown: Unknown, groupUnknown: Unknown, topicUnknown: Unknown,
	ambiguous: Invalid, noPosition: Invalid,
	pastEnd: TailOverflow, pastEndAnew: TailOverflow, pastEndCut: TailOverflow,
	beforeStart: HeadOverflow,
	topicAnew:   Diverged, storeDoubts: Diverged, epochAbove: Diverged, epochCut: Diverged, epochDoubt: Diverged,
	epochWrong: Diverged, youngerRecord: Diverged, logShrank: Diverged,
	differentSubscriptions: MixedSubscriptions,
	noPartition:            Orphan,
	vanished:               Absent,
	absentBeside:           Absent, absentTopic: Absent, absentUnsure: Absent, nothingStored: Absent, groupGone: Absent,
	noMovement: Stalled, movedBack: Rewound,
	oldUnread: Stale, oldPosition: Stale, nearlyGone: Stale,
	muchUnread: Lagging,
}

// absent are the causes of one partition without a position.
func (k cause) absent() bool { return k == absentBeside || k == absentTopic || k == absentUnsure }

// proven are the causes of diverged that leave no doubt.
func (k cause) proven() bool { return k == topicAnew || k == epochCut }
