// Command sbom writes the modules that a Go program links, as recorded in the
// program, as a CycloneDX document. The output is reproducible.
//
//	go run ./sbom -name usher -version v0.2.0 -time 2026-01-02T03:04:05Z -o usher.cdx.json bin/usher
//
// It reads the program, not go.mod, because the go.mod of a program that links
// k8s.io/kubernetes names modules that do not exist.
package main

import (
	"crypto/sha1"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/package-url/packageurl-go"
)

func main() {
	name := flag.String("name", "", "name of the program (default that of its file)")
	version := flag.String("version", "", "version of the program (default that of its module)")
	created := flag.String("time", "", "time of the document in RFC 3339, such as its commit's (default none)")
	out := flag.String("o", "", "file to write")
	flag.Parse()
	if flag.NArg() != 1 || *out == "" {
		fmt.Fprintln(os.Stderr, "sbom: name one program, and the document with -o")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *name, *version, *created, *out); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %s: %v\n", flag.Arg(0), err)
		os.Exit(1)
	}
}

func run(program, name, version, created, out string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if name == "" {
		name = filepath.Base(program)
	}
	if version == "" {
		version = info.Main.Version
	}
	document, err := describe(info, content, name, version)
	if err != nil {
		return err
	}
	document.Metadata.Timestamp = created
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	return errors.Join(cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(document, cyclonedx.SpecVersion1_6), f.Close())
}

// describe returns the document for a program with that content.
func describe(info *debug.BuildInfo, content []byte, name, version string) (*cyclonedx.BOM, error) {
	sum := sha256.Sum256(content)
	own := locator(info.Main.Path, version, strings.TrimPrefix(info.Path, info.Main.Path+"/"))
	components := []cyclonedx.Component{{
		BOMRef: "std", Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
		PackageURL: locator("std", strings.TrimPrefix(info.GoVersion, "go"), ""),
	}}
	links := []string{"std"}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		component, err := library(module)
		if err != nil {
			return nil, err
		}
		components, links = append(components, component), append(links, component.BOMRef)
	}
	document := cyclonedx.NewBOM()
	document.SerialNumber = "urn:uuid:" + identity(sum[:])
	document.Metadata = &cyclonedx.Metadata{Component: &cyclonedx.Component{
		BOMRef: own, Type: cyclonedx.ComponentTypeApplication, Name: name, Version: version, PackageURL: own,
		Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:   &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		Properties: settings(info),
	}}
	document.Components = &components
	document.Dependencies = &[]cyclonedx.Dependency{{Ref: own, Dependencies: &links}}
	return document, nil
}

// library returns a module that the program links. Its hash is that of go.sum,
// of the module's files.
func library(module *debug.Module) (cyclonedx.Component, error) {
	url := locator(module.Path, module.Version, "")
	component := cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: url}
	if module.Sum == "" {
		return component, nil // a folder that replaces a module
	}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:"))
	if err != nil {
		return component, fmt.Errorf("the hash of %s: %w", module.Path, err)
	}
	component.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	return component, nil
}

// locator returns the package URL of a module's folder.
func locator(module, version, folder string) string {
	namespace, name := path.Split(module)
	return packageurl.NewPackageURL(packageurl.TypeGolang, strings.TrimSuffix(namespace, "/"), name, version, nil, folder).ToString()
}

// settings returns how the program was built.
func settings(info *debug.BuildInfo) *[]cyclonedx.Property {
	var properties []cyclonedx.Property
	for _, setting := range info.Settings {
		properties = append(properties, cyclonedx.Property{Name: "go:build:" + setting.Key, Value: setting.Value})
	}
	return &properties
}

// identity returns a UUID that is unique to a program: version 5, of its hash.
func identity(sum []byte) string {
	id := sha1.Sum(append([]byte("usher.dev/sbom"), sum...))
	id[6], id[8] = id[6]&0x0f|0x50, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
}
