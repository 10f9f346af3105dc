// Evaluates expressions with the code of kube-apiserver itself: one question per line of standard
// input, one answer per line of standard output, both JSON.  See record.py.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

type Req struct {
	Schema   json.RawMessage `json:"schema"`
	Expr     string          `json:"expr"`
	Self     json.RawMessage `json:"self"`
	Old      json.RawMessage `json:"old"`
	Root     bool            `json:"root"`
	Optional bool            `json:"optional"`
	Rule     bool            `json:"rule"`
	Message  string          `json:"message"`
}

func show(v ref.Val) any {
	switch x := v.(type) {
	case *types.Optional:
		if !x.HasValue() {
			return "optional.none()"
		}
		return []any{"optional", show(x.GetValue())}
	case types.Bool:
		return bool(x)
	case types.Int:
		return json.RawMessage(fmt.Sprint(int64(x)))
	case types.Uint:
		return fmt.Sprintf("%du", uint64(x))
	case types.Double:
		return "d:" + fmt.Sprint(float64(x))
	case types.String:
		return string(x)
	case types.Bytes:
		return "b:" + fmt.Sprintf("%x", []byte(x))
	case types.Null:
		return nil
	case types.Timestamp:
		return "t:" + string(x.ConvertToType(types.StringType).(types.String))
	case types.Duration:
		return "dur:" + string(x.ConvertToType(types.StringType).(types.String))
	case *types.Type:
		return "type:" + x.TypeName()
	case traits.Lister:
		out := []any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			out = append(out, show(it.Next()))
		}
		return out
	case traits.Mapper:
		type kv struct {
			k string
			v any
		}
		out := []kv{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			val := x.Get(k)
			kj, _ := json.Marshal(show(k))
			out = append(out, kv{string(kj), show(val)})
		}
		sort.Slice(out, func(i, j int) bool { return out[i].k < out[j].k })
		m := map[string]any{}
		for _, e := range out {
			m[strings.Trim(e.k, "\"")] = e.v
		}
		return m
	}
	if s := v.ConvertToType(types.StringType); s != nil {
		if st, ok := s.(types.String); ok {
			return v.Type().TypeName() + ":" + string(st)
		}
	}
	return v.Type().TypeName() + ":" + fmt.Sprint(v.Value())
}

func run(line []byte) (out map[string]any) {
	out = map[string]any{}
	defer func() {
		if r := recover(); r != nil {
			out["panic"] = fmt.Sprint(r)
		}
	}()
	var req Req
	if err := json.Unmarshal(line, &req); err != nil {
		out["bad"] = err.Error()
		return
	}
	v1 := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(req.Schema, v1); err != nil {
		out["bad"] = err.Error()
		return
	}
	in := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, in, nil); err != nil {
		out["bad"] = err.Error()
		return
	}
	s, err := schema.NewStructural(in)
	if err != nil {
		out["bad"] = err.Error()
		return
	}
	decl := model.SchemaDeclType(s, req.Root)
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	if decl == nil {
		out["bad"] = "nil decl"
		return
	}
	if req.Rule {
		o := req.Optional
		s.XValidations = apiextensionsv1.ValidationRules{{Rule: req.Expr, MessageExpression: req.Message, OptionalOldSelf: &o}}
		res, err := schemacel.Compile(s, decl, celconfig.PerCallLimit, base, schemacel.NewExpressionsEnvLoader())
		if err != nil {
			out["bad"] = err.Error()
			return
		}
		r := res[0]
		if r.Error != nil {
			out["error"] = r.Error.Detail
			return
		}
		out["max_cost"] = r.MaxCost
		out["cardinality"] = r.MaxCardinality
		out["uses_old"] = r.UsesOldSelf
		if r.MessageExpressionError != nil {
			out["message_error"] = r.MessageExpressionError.Detail
		}
		out["message_cost"] = r.MessageExpressionMaxCost
		return
	}
	scoped := decl.MaybeAssignTypeName("selfType1")
	oldType := scoped.CelType()
	if req.Optional {
		oldType = types.NewOptionalType(oldType)
	}
	set, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable("self", scoped.CelType()), cel.Variable("oldSelf", oldType)},
		DeclTypes:         []*apiservercel.DeclType{scoped},
	})
	if err != nil {
		out["bad"] = err.Error()
		return
	}
	env := set.NewExpressionsEnv()
	ast, issues := env.Compile(req.Expr)
	if issues != nil {
		out["error"] = issues.String()
		return
	}
	out["type"] = ast.OutputType().String()
	prog, err := env.Program(ast, cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(&library.CostEstimator{}))
	if err != nil {
		out["error"] = "program instantiation failed: " + err.Error()
		return
	}
	if req.Root {
		s = model.WithTypeAndObjectMeta(s)
	}
	vars := map[string]any{}
	if len(req.Self) > 0 {
		var v any
		if err := utiljson.Unmarshal(req.Self, &v); err != nil {
			out["bad"] = err.Error()
			return
		}
		vars["self"] = schemacel.UnstructuredToVal(v, s)
	}
	if req.Optional {
		vars["oldSelf"] = types.OptionalNone
	}
	if len(req.Old) > 0 {
		var v any
		if err := utiljson.Unmarshal(req.Old, &v); err != nil {
			out["bad"] = err.Error()
			return
		}
		val := schemacel.UnstructuredToVal(v, s)
		if req.Optional {
			vars["oldSelf"] = types.OptionalOf(val)
		} else {
			vars["oldSelf"] = val
		}
	}
	res, _, err := prog.Eval(vars)
	if err != nil {
		out["eval_error"] = err.Error()
		return
	}
	out["value"] = show(res)
	return
}

func main() {
	sc := bufio.NewScanner(os.Stdin)
	sc.Buffer(make([]byte, 1<<20), 1<<24)
	w := bufio.NewWriter(os.Stdout)
	for sc.Scan() {
		b, _ := json.Marshal(run(sc.Bytes()))
		w.Write(b)
		w.WriteString("\n")
		w.Flush()
	}
}
