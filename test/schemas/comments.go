package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// A field is the name of a struct, and that of a field in documents.
type field struct{ of, name string }

// comments reads the comments of the fields of structs in packages.
func comments(folders ...string) (map[field]string, error) {
	docs := map[field]string{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", folder, err)
		}
		for _, path := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return nil, fmt.Errorf("reading the comments: %w", err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if s, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						if name := jsonName(f); name != "" && f.Doc != nil {
							docs[field{spec.Name.Name, name}] = strings.Join(strings.Fields(f.Doc.Text()), " ")
						}
					}
				}
				return false
			})
		}
	}
	return docs, nil
}

// jsonName is the name of a field in documents.
func jsonName(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name
}
