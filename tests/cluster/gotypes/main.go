// The Go types of the Kubernetes API, asked by tests.  One argument says what is wanted:
//
//	table    print the messages: field numbers, JSON names and types, as read from the struct tags
//	encode   print an object of every kind with all fields filled: as protobuf and as JSON
//	decode   read protobuf (base64, one per line), print each as JSON
//	openapi  read an OpenAPI v2 document as protobuf from standard input, print it as YAML
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type marshaler interface{ Marshal() ([]byte, error) }

var message = reflect.TypeFor[marshaler]()

func kinds() map[schema.GroupVersionKind]reflect.Type {
	must(apidiscoveryv2.AddToScheme(scheme.Scheme))
	must(apiextensionsv1.AddToScheme(scheme.Scheme))
	must(apiregistrationv1.AddToScheme(scheme.Scheme))
	must(metav1.AddMetaToScheme(scheme.Scheme))
	must(metav1beta1.AddMetaToScheme(scheme.Scheme))
	found := map[schema.GroupVersionKind]reflect.Type{}
	for kind, goType := range scheme.Scheme.AllKnownTypes() {
		if kind.Version != runtime.APIVersionInternal && reflect.PointerTo(goType).Implements(message) {
			found[kind] = goType
		}
	}
	return found
}

// ------------------------------------------------------------------------------------- table

type table struct {
	Kinds    map[string]string              `json:"kinds"`
	Messages map[string]map[string][]string `json:"messages"`
}

func printTable() {
	made := table{map[string]string{}, map[string]map[string][]string{}}
	for kind, goType := range kinds() {
		made.Kinds[kind.GroupVersion().String()+"/"+kind.Kind] = made.add(goType)
	}
	must(json.NewEncoder(os.Stdout).Encode(made))
}

func nameOf(goType reflect.Type) string {
	path := strings.TrimPrefix(goType.PkgPath(), "k8s.io/")
	return path + "." + goType.Name()
}

func (made table) add(goType reflect.Type) string {
	name := nameOf(goType)
	if _, known := made.Messages[name]; known {
		return name
	}
	fields := map[string][]string{}
	made.Messages[name] = fields
	if goType.Kind() != reflect.Struct {
		return name // a list with a message of its own: ExtraValue, Verbs
	}
	for index := range goType.NumField() {
		field := goType.Field(index)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 3 {
			continue // TypeMeta, which is in the envelope; or a message that is not a struct in JSON
		}
		jsonName := strings.Split(field.Tag.Get("json"), ",")[0]
		label := ""
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case reflect.PointerTo(inner).Implements(message):
		case inner.Kind() == reflect.Map:
			label, inner = "map", inner.Elem()
		case inner.Kind() == reflect.Slice && inner.Elem().Kind() != reflect.Uint8:
			label, inner = "repeated", inner.Elem()
		}
		if jsonName == "" {
			label = "inline"
		}
		fields[tag[1]] = []string{jsonName, made.typeName(inner), label}
	}
	return name
}

func (made table) typeName(goType reflect.Type) string {
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	if reflect.PointerTo(goType).Implements(message) {
		return made.add(goType)
	}
	switch goType.Kind() {
	case reflect.Slice:
		return "bytes"
	case reflect.String, reflect.Bool:
		return goType.Kind().String()
	case reflect.Float64:
		return "double"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return "int"
	}
	panic("a field of type " + goType.String())
}

// ------------------------------------------------------------------------------------ encode

const depthMax = 14

type sample struct {
	Kind     string          `json:"kind"`
	Protobuf []byte          `json:"protobuf"`
	JSON     json.RawMessage `json:"json"`
}

func printSamples() {
	all := kinds()
	ordered := make([]schema.GroupVersionKind, 0, len(all))
	for kind := range all {
		ordered = append(ordered, kind)
	}
	slices.SortFunc(ordered, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	out := json.NewEncoder(os.Stdout)
	for _, kind := range ordered {
		value := reflect.New(all[kind])
		filler{map[reflect.Type]int{}}.fill(value.Elem(), 0, map[reflect.Type]int{})
		object := value.Interface().(runtime.Object)
		object.GetObjectKind().SetGroupVersionKind(kind)
		text, err := json.Marshal(object)
		must(err)
		raw, err := runtime.Encode(serializer(), object)
		must(err)
		must(out.Encode(sample{kind.GroupVersion().String() + "/" + kind.Kind, raw, text}))
	}
}

func serializer() runtime.Serializer {
	return protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
}

// A union is filled with one of its choices, in turn.
type filler struct{ turns map[reflect.Type]int }

func (f filler) turn(value any) bool {
	f.turns[reflect.TypeOf(value)]++
	return f.turns[reflect.TypeOf(value)]%2 == 0
}

var moment = time.Date(2026, 11, 16, 1, 2, 3, 456789000, time.UTC)

func (f filler) fill(value reflect.Value, depth int, above map[reflect.Type]int) {
	switch special := value.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		return
	case *metav1.Time:
		*special = metav1.NewTime(moment)
		return
	case *metav1.MicroTime:
		*special = metav1.NewMicroTime(moment)
		return
	case *resource.Quantity:
		*special = resource.MustParse("1500m")
		return
	case *intstr.IntOrString:
		*special = intstr.FromString("50%")
		if f.turn(special) {
			*special = intstr.FromInt32(-8080)
		}
		return
	case *runtime.RawExtension:
		special.Raw = []byte(`{"kind":"Raw","apiVersion":"v1","values":[1,"a",null]}`)
		return
	case *metav1.FieldsV1:
		special.Raw = []byte(`{"f:spec":{".":{}}}`)
		return
	case *apiextensionsv1.JSON:
		special.Raw = []byte(`{"a":[1,2.5,"b"]}`)
		return
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		if special.Schema = &(apiextensionsv1.JSONSchemaProps{Type: "string"}); f.turn(special) {
			special.Schema, special.JSONSchemas = nil, []apiextensionsv1.JSONSchemaProps{{Type: "number"}}
		}
		return
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		if special.Allows = true; f.turn(special) {
			special.Schema = &apiextensionsv1.JSONSchemaProps{Type: "string"}
		}
		return
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		if special.Property = []string{"a", "b"}; f.turn(special) {
			special.Property, special.Schema = nil, &apiextensionsv1.JSONSchemaProps{Type: "string"}
		}
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		// A type may contain itself (schemas, nested lists): it is filled twice, not for ever.
		if above[value.Type()] < 2 && depth < depthMax {
			above[value.Type()]++
			value.Set(reflect.New(value.Type().Elem()))
			f.fill(value.Elem(), depth+1, above)
			above[value.Type()]--
		}
	case reflect.Struct:
		if above[value.Type()] >= 2 {
			return
		}
		above[value.Type()]++
		for index := range value.NumField() {
			if value.Type().Field(index).IsExported() {
				f.fill(value.Field(index), depth+1, above)
			}
		}
		above[value.Type()]--
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			value.SetBytes([]byte("bytes\x00\xff"))
			return
		}
		if above[value.Type().Elem()] >= 2 {
			return
		}
		value.Set(reflect.MakeSlice(value.Type(), 2, 2))
		for index := range 2 {
			f.fill(value.Index(index), depth+1, above)
		}
	case reflect.Map:
		if above[value.Type().Elem()] >= 2 {
			return
		}
		value.Set(reflect.MakeMap(value.Type()))
		for _, name := range []string{"one", "two"} {
			key, item := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
			key.SetString(name)
			f.fill(item, depth+1, above)
			value.SetMapIndex(key, item)
		}
	case reflect.String:
		value.SetString(fmt.Sprintf("text-%d", depth))
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		value.SetInt(-int64(depth) - 1)
	case reflect.Uint32, reflect.Uint64:
		value.SetUint(uint64(depth) + 1)
	case reflect.Float64:
		value.SetFloat(1.5)
	}
}

// ------------------------------------------------------------------------------------ decode

func decodeLines() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return
		}
		must(err)
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		must(err)
		object, _, err := serializer().Decode(raw, nil, nil)
		if err != nil {
			fmt.Printf("%q\n", err.Error())
			continue
		}
		text, err := json.Marshal(object)
		must(err)
		fmt.Printf("%s\n", text)
	}
}

func printOpenAPI() {
	raw, err := io.ReadAll(os.Stdin)
	must(err)
	document := &openapi_v2.Document{}
	must(proto.Unmarshal(raw, document))
	text, err := document.YAMLValue("")
	must(err)
	os.Stdout.Write(text)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	kinds()
	switch os.Args[1] {
	case "table":
		printTable()
	case "encode":
		printSamples()
	case "decode":
		decodeLines()
	case "openapi":
		printOpenAPI()
	}
}
