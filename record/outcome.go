package record

import "slices"

// Outcome is how a decision ended. Every outcome but Held is final; QueuedByTarget and Unknown may still be upgraded.
type Outcome string

// The outcomes.
const (
	Delivered      Outcome = "delivered"
	QueuedByTarget Outcome = "queued_by_target"
	Typed          Outcome = "typed"
	Held           Outcome = "held"
	Skipped        Outcome = "skipped"
	Stopped        Outcome = "stopped"
	Blocked        Outcome = "blocked"
	Expired        Outcome = "expired"
	Cancelled      Outcome = "cancelled"
	Failed         Outcome = "failed"
	Unknown        Outcome = "unknown"
)

// Final reports whether o ends a record.
func (o Outcome) Final() bool { return o != Held && o != "" }

// Reason says why a record has its outcome. The lists are closed: the same word stands in log, status, metrics and CLI.
type Reason string

// Reasons of Typed.
const (
	NotSubmitted Reason = "not_submitted"
	HumanTyped   Reason = "human_typed"
	NoProof      Reason = "no_proof"
)

// Reasons of Held.
const (
	Cooldown          Reason = "cooldown"
	TargetSpacing     Reason = "target_spacing"
	TargetBusy        Reason = "target_busy"
	TargetDialog      Reason = "target_dialog"
	TargetDraft       Reason = "target_draft"
	TargetStarting    Reason = "target_starting"
	TargetLimited     Reason = "target_limited"
	CopyMode          Reason = "copy_mode"
	Suspended         Reason = "suspended"
	InputOff          Reason = "input_off"
	Synchronized      Reason = "synchronized"
	StateIsUnknown    Reason = "state_unknown"
	ServerUnreachable Reason = "server_unreachable"
	NeedsApproval     Reason = "needs_approval"
	Parked            Reason = "parked"
)

// Reasons of Skipped.
const (
	Orchestrator Reason = "orchestrator"
	NoAnswer     Reason = "no_answer"
	APIError     Reason = "api_error"
	Interrupted  Reason = "interrupted"
	Refusal      Reason = "refusal"
	Truncated    Reason = "truncated"
	UsageLimit   Reason = "usage_limit"
	Superseded   Reason = "superseded" // also of Cancelled
	Missed       Reason = "missed"
	Shadow       Reason = "shadow"
)

// Reasons of Stopped.
const (
	StopKeyword Reason = "stop_keyword"
	MaxRounds   Reason = "max_rounds"
)

// Reasons of Blocked.
const (
	TargetGone       Reason = "target_gone"
	TargetUnknown    Reason = "target_unknown"
	NotAllowed       Reason = "not_allowed"
	ToolNotGranted   Reason = "tool_not_granted"
	Self             Reason = "self"
	Cycle            Reason = "cycle"
	Hops             Reason = "hops"
	Rate             Reason = "rate"
	Paused           Reason = "paused"
	TooLong          Reason = "too_long"
	MultiLine        Reason = "multi_line"
	EmptyText        Reason = "empty_text"
	QueueFull        Reason = "queue_full"
	NotHuman         Reason = "not_human"
	CallerUnverified Reason = "caller_unverified"
	Denied           Reason = "denied"
)

// Reasons of Expired, Cancelled, Failed and Unknown.
const (
	HoldFor         Reason = "hold_for"
	ByUser          Reason = "by_user"
	Reload          Reason = "reload"
	TransformFailed Reason = "transform_failed"
	DecideFailed    Reason = "decide_failed"
	LLMMissing      Reason = "llm_missing"
	TmuxError       Reason = "tmux_error"
	DiskFull        Reason = "disk_full"
	Timeout         Reason = "timeout"
	Crash           Reason = "crash"
	ServerLost      Reason = "server_lost"
)

// Reasons maps each outcome to the reasons that it may carry. Delivered and QueuedByTarget carry none; Held may carry
// none while its text is being typed.
var Reasons = map[Outcome][]Reason{
	Delivered:      nil,
	QueuedByTarget: nil,
	Typed:          {NotSubmitted, HumanTyped, NoProof},
	Held: {
		Cooldown, TargetSpacing, TargetBusy, TargetDialog, TargetDraft, TargetStarting, TargetLimited, CopyMode,
		Suspended, InputOff, Synchronized, StateIsUnknown, ServerUnreachable, NeedsApproval, Parked,
	},
	Skipped: {Orchestrator, NoAnswer, APIError, Interrupted, Refusal, Truncated, UsageLimit, Superseded, Missed, Shadow},
	Stopped: {StopKeyword, MaxRounds},
	Blocked: {
		TargetGone, TargetUnknown, NotAllowed, ToolNotGranted, Self, Cycle, Hops, Rate, Paused, TooLong, MultiLine,
		EmptyText, QueueFull, NotHuman, CallerUnverified, Denied,
	},
	Expired:   {HoldFor},
	Cancelled: {Superseded, ByUser, Reload},
	Failed:    {TransformFailed, DecideFailed, LLMMissing, TmuxError, DiskFull, Timeout},
	Unknown:   {Crash, ServerLost},
}

// Outcomes lists the outcomes in the order of the documentation.
var Outcomes = []Outcome{Delivered, QueuedByTarget, Typed, Held, Skipped, Stopped, Blocked, Expired, Cancelled, Failed, Unknown}

// Allowed reports whether an outcome may carry a reason.
func Allowed(o Outcome, r Reason) bool {
	reasons, known := Reasons[o]
	if !known {
		return false
	}
	if r == "" {
		return len(reasons) == 0 || o == Held
	}
	return slices.Contains(reasons, r)
}
