package records

import (
	"errors"
	"sync"

	"github.com/madohub/madohub/agent"
)

// maxProofs is how many places are read on from at the same time; the oldest is then read from its offset again.
const maxProofs = 32

var errReplaced = errors.New("the transcript is no longer the file that it was")

// Proofs reads on from places in transcripts, to see what was appended since. However often it is asked, each line is
// read once. It may be used from several goroutines.
type Proofs struct {
	mu   sync.Mutex
	list []*proof // mu; oldest first
}

// Since is a place in a transcript.
type Since struct {
	Path   string
	Offset int64
}

type proof struct {
	at   Since
	book *Transcript
	err  error // the place means nothing any more
}

// Prompts are the newest prompts that were recorded after a place. A file that was replaced or cut since is an error:
// what stands in it now may be older.
func (p *Proofs) Prompts(at Since, newFold func() agent.Fold) ([]agent.Prompt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.of(at, newFold)
	if x.err != nil {
		return nil, x.err
	}
	_, anew, err := x.book.Read(nil)
	if anew {
		err, x.err = errReplaced, errReplaced
	}
	if err != nil {
		return nil, err
	}
	return x.book.Fold.Prompts(), nil
}

func (p *Proofs) of(at Since, newFold func() agent.Fold) *proof {
	for _, x := range p.list {
		if x.at == at {
			return x
		}
	}
	x := &proof{at: at, book: &Transcript{Path: at.Path, NewFold: newFold}}
	if x.err = x.book.from(at.Offset); x.err != nil && !errors.Is(x.err, errReplaced) {
		return x // it may work the next time
	}
	if len(p.list) >= maxProofs {
		p.list = p.list[1:]
	}
	p.list = append(p.list, x)
	return x
}

// from begins to read at an offset that was the end of the file.
func (t *Transcript) from(off int64) error {
	f, info, err := openOurs(t.Path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if info.Size() < off {
		return errReplaced
	}
	t.Fold, t.off = t.NewFold(), off
	if err := t.scan(f, info.Size(), nil); err != nil {
		return err
	}
	t.info = info
	t.remember(f)
	return nil
}
