package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/madohub/madohub/config/strict"
)

func (d *decoder) checkConnections(c *Config) {
	for i := range c.Connections {
		x := &c.Connections[i]
		if !d.Has(x) {
			continue // no mapping, which was said already
		}
		at := d.At(x)
		if !d.Has(&x.From) {
			d.Add(at, "from is missing", "")
		}
		if !d.Has(&x.To) {
			d.Add(at, "to is missing", "")
		}
		d.checkEnd(c, &x.From, false)
		d.warnShell(d.checkEnd(c, &x.To, true), d.Given(&x.To, at))
		if x.From != "" && x.From == x.To {
			d.Add(d.At(&x.To), fmt.Sprintf("agent %s would be connected to itself", strict.Quote(x.To)), "")
		}
		if !d.Has(&x.Name) && x.From != "" && x.To != "" {
			x.Name = x.From + "-" + x.To
		}
		d.checkTrigger(x, at)
		d.checkTransform(c, x, at)
	}
}

func (d *decoder) checkTrigger(x *Connection, at value) {
	switch {
	case x.Trigger == "on-keyword" && !d.Has(&x.Keyword):
		d.Add(d.Given(&x.Trigger, at), "trigger on-keyword needs a keyword", "such as keyword: 'DONE|FIXED'")
	case x.Trigger == "on-keyword" && x.Keyword == "" && d.Blank(&x.Keyword):
		d.Add(d.At(&x.Keyword), "the keyword is empty: it would match everything", "")
	case x.Trigger != "on-keyword" && x.Trigger != "" && d.Has(&x.Keyword):
		d.Add(d.At(&x.Keyword), fmt.Sprintf("keyword is only for trigger: on-keyword, the trigger is %s", x.Trigger), "")
	}
	if v, given := d.At(&x.Guard.StopKeyword), d.Has(&x.Guard.StopKeyword); given && x.Guard.StopKeyword != "" && strings.TrimSpace(x.Guard.StopKeyword) == "" {
		d.Add(v, "the stop keyword is blank: nearly every answer would stop the loop", "")
	}
}

func (d *decoder) checkTransform(c *Config, x *Connection, at value) {
	if c.LLM == nil && (x.Transform == "summary" || x.Transform == "ai-routing") {
		d.Add(d.Given(&x.Transform, at), fmt.Sprintf("transform %s needs a model, and there is no llm: in this configuration", x.Transform), "")
	}
	v, given := d.At(&x.Template), d.Has(&x.Template)
	switch x.Transform {
	case "prompt-wrap":
		if given {
			d.checkTemplate(x.Template, v)
		} else {
			x.Template = "{output}"
		}
	case "ai-routing", "":
	default:
		if given {
			d.Add(v, fmt.Sprintf("template is only for prompt-wrap and ai-routing, the transform is %s", x.Transform), "")
		}
	}
}

// The placeholders of a template.
var placeholders = []string{"output", "round", "maxRounds", "source", "cwd"}

var placeholder = regexp.MustCompile(`\{([A-Za-z_]{1,20})\}`)

// checkTemplate warns of what is allowed but was hardly meant. Unknown braces stay as they are: code has many.
func (d *decoder) checkTemplate(t string, at value) {
	switch {
	case strings.TrimSpace(t) == "" && strict.Target(at.Node).Value == t:
		d.Add(at, "the template is empty", "leave it out to send the answer as it is")
	case !strings.Contains(t, "{output}"):
		d.Warn(at, "the template has no {output}, so nothing of the answer is sent", "")
	}
	for _, m := range placeholder.FindAllStringSubmatch(t, 20) {
		if near := strict.Nearest(m[1], placeholders); near != "" && near != m[1] {
			d.Warn(at, fmt.Sprintf("%s is not filled in", m[0]), fmt.Sprintf("did you mean {%s}?", near))
		}
	}
}

// flowRoles are the roles that each flow has.
var flowRoles = map[string][]string{"peer-review": {"author", "reviewer"}, "pipeline": {"stages"}, "watcher": {"watched", "observer"}}

// flowTemplates are the roles that get text in each flow.
var flowTemplates = map[string][]string{"peer-review": {"author", "reviewer"}, "pipeline": {"stage"}, "watcher": {"observer"}}

func (d *decoder) checkFlows(c *Config) {
	for i := range c.Flows {
		f := &c.Flows[i]
		if !d.Has(f) {
			continue // no mapping, which was said already
		}
		at := d.At(f)
		if !d.Has(&f.Flow) {
			d.Add(at, "flow is missing", "one of "+strings.Join(d.names.Flows, ", "))
			continue
		}
		if !d.Has(&f.Name) {
			f.Name = f.Flow
		}
		if _, known := flowRoles[f.Flow]; !known {
			continue
		}
		d.checkRoles(c, f, at)
		for role, text := range f.Template {
			v := d.At(templateAt{f, role})
			if !slices.Contains(flowTemplates[f.Flow], role) {
				d.Add(v, fmt.Sprintf("flow %s has no text for the role %s", f.Flow, role), "it has: "+strings.Join(flowTemplates[f.Flow], ", "))
				continue
			}
			d.checkTemplate(text, v)
		}
	}
}

func (d *decoder) checkRoles(c *Config, f *Flow, at value) {
	a := &f.Agents
	wanted := flowRoles[f.Flow]
	single := map[string]*string{"author": &a.Author, "reviewer": &a.Reviewer, "watched": &a.Watched, "observer": &a.Observer}
	at = d.Given(a, at)
	for _, role := range slices.Sorted(maps.Keys(single)) {
		p := single[role]
		switch given := d.Has(p); {
		case slices.Contains(wanted, role) && !given:
			d.Add(at, fmt.Sprintf("flow %s needs the role %s", f.Flow, role), fmt.Sprintf("agents: {%s}", strings.Join(wanted, ": …, ")+": …"))
		case given && !slices.Contains(wanted, role):
			d.Add(d.At(p), fmt.Sprintf("flow %s has no role %s", f.Flow, role), "it has: "+strings.Join(wanted, ", "))
		}
	}
	switch given := d.Has(&a.Stages); {
	case f.Flow == "pipeline" && len(a.Stages) < 2:
		d.Add(d.Given(&a.Stages, at), "flow pipeline needs at least two stages", "agents: {stages: [a, b]}")
	case f.Flow != "pipeline" && given:
		d.Add(d.At(&a.Stages), fmt.Sprintf("flow %s has no stages", f.Flow), "it has: "+strings.Join(wanted, ", "))
	}
	d.checkMembers(c, f)
}

// checkMembers checks the agents of a flow. Only one that nobody sends to may be other than a target.
func (d *decoder) checkMembers(c *Config, f *Flow) {
	a := &f.Agents
	type member struct {
		p      *string
		target bool
	}
	var members []member
	switch f.Flow {
	case "peer-review":
		members = []member{{&a.Author, true}, {&a.Reviewer, true}}
	case "watcher":
		members = []member{{&a.Watched, false}, {&a.Observer, true}}
	case "pipeline":
		for i := range a.Stages {
			members = append(members, member{&a.Stages[i], i > 0})
		}
	}
	seen := map[string]bool{}
	for _, m := range members {
		if v, given := d.At(m.p), d.Has(m.p); given && *m.p != "" && seen[*m.p] {
			d.Add(v, fmt.Sprintf("agent %s has two roles in one flow", strict.Quote(*m.p)), "")
		}
		seen[*m.p] = true
		agent := d.checkEnd(c, m.p, m.target)
		if m.target {
			d.warnShell(agent, d.At(m.p))
		}
	}
}

// checkNames checks that no name means two things: `pause NAME` takes connections and flows.
func (d *decoder) checkNames(c *Config) {
	agents, rules := map[string]string{}, map[string]string{}
	for i := range c.Agents {
		d.unique(agents, "agent", c.Agents[i].Name, d.Given(&c.Agents[i].Name, d.At(&c.Agents[i])), "")
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		d.unique(rules, "flow", f.Name, d.Given(&f.Name, d.At(f)), "give each a name of its own with name:")
	}
	for i := range c.Connections {
		x := &c.Connections[i]
		at := d.Given(&x.Name, d.At(x))
		d.unique(rules, "connection", x.Name, at, "give each a name of its own with name:")
		if flow, _, ok := strings.Cut(x.Name, "/"); ok && rules[strings.ToLower(flow)] == "flow "+strict.Quote(flow) {
			d.Add(at, fmt.Sprintf("names that begin with %s belong to the flow %s", strict.Quote(flow+"/"), strict.Quote(flow)), "")
		}
	}
}

func (d *decoder) unique(seen map[string]string, what, name string, at value, hint string) {
	if name == "" {
		return
	}
	folded := strings.ToLower(name)
	this := what + " " + strict.Quote(name)
	switch other, taken := seen[folded]; {
	case !taken:
		seen[folded] = this
	case other == this:
		d.Add(at, fmt.Sprintf("there is a second %s", this), hint)
	case strings.HasSuffix(other, strict.Quote(name)):
		d.Add(at, fmt.Sprintf("%s has the name of %s", this, other), hint)
	default:
		d.Add(at, fmt.Sprintf("%s differs from %s only by case", this, other), "")
	}
}

func (d *decoder) checkApprove(c *Config) {
	known := slices.Clone(approvable)
	for i := range c.Connections {
		known = append(known, c.Connections[i].Name)
	}
	for i := range c.Flows {
		known = append(known, c.Flows[i].Name)
	}
	for i := range c.Approve {
		p := &c.Approve[i]
		v, given := d.At(p), d.Has(p)
		if !given || slices.Contains(known, *p) {
			continue
		}
		if flow, _, ok := strings.Cut(*p, "/"); ok && slices.ContainsFunc(c.Flows, func(f Flow) bool { return f.Name == flow }) {
			continue
		}
		d.Add(v, fmt.Sprintf("%s is neither an action nor a connection", strict.Quote(*p)), d.DidYouMean(*p, known))
	}
}
