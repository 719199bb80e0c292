package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/distribution/reference"
)

// The linker sets the images of releases, with their digests.
var image, podImage string

// repository is where the main image of each release is published; that for users'
// pods has the suffix -pod.
const repository = "ghcr.io/usher-dev/usher"

// released are the versions of releases: not those of commits between them.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// publishedImages returns the chart's values that name the images of this program's
// version.
func publishedImages(version string) (map[string]any, error) {
	main, pod := image, podImage
	if main == "" {
		if !released.MatchString(version) {
			return nil, fmt.Errorf("this program is a development build, %s, whose image was not published: name an image with --image, such as --image registry.example.com/usher:dev; make image writes one to dist/usher.tar", version)
		}
		main, pod = repository+":"+version, repository+"-pod:"+version
	}
	mainValues, err := imageValues(main)
	if err != nil {
		return nil, fmt.Errorf("the image of this version, %q: %w", main, err)
	}
	podValues, err := imageValues(pod)
	if err != nil {
		return nil, fmt.Errorf("the image for pods of this version, %q: %w", pod, err)
	}
	return map[string]any{"image": mainValues, "podImage": podValues}, nil
}

// imageValues are the chart's values of an image.
func imageValues(name string) (map[string]any, error) {
	ref, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return nil, err
	}
	// As it was written: usher, not docker.io/library/usher.
	repository, _, _ := strings.Cut(name, "@")
	values := map[string]any{}
	if tagged, ok := ref.(reference.Tagged); ok {
		values["tag"] = tagged.Tag()
		repository = strings.TrimSuffix(repository, ":"+tagged.Tag())
	}
	if digested, ok := ref.(reference.Digested); ok {
		values["digest"] = digested.Digest().String()
	}
	values["repository"] = repository
	return values, nil
}
