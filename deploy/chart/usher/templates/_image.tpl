{{- /* The repository of the images that belong to this chart; a release writes its
own here and into values.yaml. */}}
{{- define "usher.ownRepository" -}}usher{{- end }}

{{- /* The name of an image: the values that contain the registry, its repository,
tag and digest. A registry replaces the host of the repository. */}}
{{- define "usher.reference" -}}
{{- $repository := .repository -}}
{{- with .registry -}}
{{- $parts := splitList "/" $repository -}}
{{- if and (gt (len $parts) 1) (regexMatch "[.:]|^localhost$" (first $parts)) -}}
{{- $repository = join "/" (rest $parts) -}}
{{- end -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" .) $repository -}}
{{- end -}}
{{- $repository -}}
{{- if .digest -}}@{{ .digest }}{{- else -}}:{{ .tag }}{{- end -}}
{{- end }}

{{- define "usher.image" -}}
{{- with .Values.image -}}
{{- include "usher.reference" (dict "registry" .registry "repository" .repository "digest" .digest "tag" (.tag | default $.Chart.AppVersion)) -}}
{{- end -}}
{{- end }}

{{- /* The image of usher's containers in users' pods: the one that the values name,
or the one that belongs to the chart. Where the main image is another than the
chart's, such as one in a private registry, there may be no such image: the main
image runs there, as it contains the same programs. */}}
{{- define "usher.podImage" -}}
{{- $main := .Values.image -}}
{{- with .Values.podImage -}}
{{- if .repository -}}
{{- include "usher.reference" (dict "registry" $main.registry "repository" .repository "digest" .digest "tag" (.tag | default $.Chart.AppVersion)) -}}
{{- else if and (eq $main.repository (include "usher.ownRepository" $)) (not $main.tag) (not $main.digest) -}}
{{- include "usher.reference" (dict "registry" $main.registry "repository" (printf "%s-pod" $main.repository) "digest" .digest "tag" (.tag | default $.Chart.AppVersion)) -}}
{{- else -}}
{{- include "usher.image" $ -}}
{{- end -}}
{{- end -}}
{{- end }}
