{{- /* The name of the release's objects that have no namespace. In its namespace a
release has the same names in every cluster: no other can be installed there. */}}
{{- define "usher.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else -}}
{{- $name := .Values.nameOverride | default "usher" -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- .Release.Name }}-{{ $name }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* The labels of an object: the list has the root, its component or "", and
labels from the values, which come first. Kubernetes' selectors use only the name
and the component, so that an upgrade never changes them. */}}
{{- define "usher.labelsWith" -}}
{{- $root := index . 0 -}}
{{- $labels := dict "app.kubernetes.io/name" "usher" "app.kubernetes.io/instance" $root.Release.Name "app.kubernetes.io/managed-by" $root.Release.Service
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_") -}}
{{- with index . 1 }}{{ $_ := set $labels "app.kubernetes.io/component" . }}{{ end -}}
{{- merge (deepCopy (index . 2)) $root.Values.commonLabels $labels | toYaml -}}
{{- end }}

{{- define "usher.standardLabels" -}}{{ include "usher.labelsWith" (list . "" dict) }}{{- end }}
{{- define "usher.labels" -}}{{ include "usher.labelsWith" (list . "webhook" dict) }}{{- end }}
{{- define "usher.controllerLabels" -}}{{ include "usher.labelsWith" (list . "controller" dict) }}{{- end }}

{{- /* The labels of the pods of a component, the second item of the list. The
chart's version is not among them: it alone must not restart pods. */}}
{{- define "usher.podLabels" -}}
{{- $component := last . -}}
{{- with first . -}}
{{- $own := ternary .Values.controller.podLabels dict (eq $component "controller") -}}
{{- $labels := dict "app.kubernetes.io/instance" .Release.Name "app.kubernetes.io/managed-by" .Release.Service -}}
{{- merge (dict "app.kubernetes.io/name" "usher" "app.kubernetes.io/component" $component) $own .Values.podLabels .Values.commonLabels $labels | toYaml -}}
{{- end -}}
{{- end }}

{{- define "usher.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary "usher-webhook" "default" .Values.serviceAccount.create) -}}
{{- end }}

{{- define "usher.controllerServiceAccount" -}}
{{- .Values.controller.serviceAccount.name | default (ternary "usher-controller" "default" .Values.controller.serviceAccount.create) -}}
{{- end }}

{{- /* Whether the controller with the name, the second item of the list, runs. */}}
{{- define "usher.runs" -}}
{{- with (first .).Values.controller -}}
{{- if and .enabled (or (empty .controllers) (has (last $) .controllers)) -}}true{{- end -}}
{{- end -}}
{{- end }}

{{- /* Certificates that webhook and controller trust, where Go looks for them. */}}
{{- define "usher.trustVolume" -}}
{{- with .Values.caBundle }}{{ if .configMap -}}
- name: ca-bundle
  configMap: {name: {{ .configMap }}, items: [{key: {{ .key }}, path: ca-bundle.crt}]}
{{ end }}{{ end -}}
{{- end }}

{{- define "usher.trustMount" -}}
{{- if .Values.caBundle.configMap -}}
- {name: ca-bundle, mountPath: /etc/ssl/certs, readOnly: true}
{{ end -}}
{{- end }}

{{- define "usher.webhookVolumes" -}}
{{- if eq .Values.certificates.from "files" -}}
- name: certificates
  secret: {secretName: {{ required "certificates.from is files: certificates.secret names the Secret with tls.crt, tls.key and ca.crt" .Values.certificates.secret }}}
{{ end -}}
{{- include "usher.trustVolume" . -}}
{{- with .Values.extraVolumes }}{{ toYaml . }}{{ end -}}
{{- end }}

{{- define "usher.webhookMounts" -}}
{{- if eq .Values.certificates.from "files" -}}
- {name: certificates, mountPath: /etc/usher/certificates, readOnly: true}
{{ end -}}
{{- include "usher.trustMount" . -}}
{{- with .Values.extraVolumeMounts }}{{ toYaml . }}{{ end -}}
{{- end }}

{{- define "usher.controllerVolumes" -}}
{{- with .Values.controller.neutron.secret -}}
- name: openstack
  secret: {secretName: {{ . }}, items: [{key: clouds.yaml, path: clouds.yaml}]}
{{ end -}}
{{- include "usher.trustVolume" . -}}
{{- with .Values.controller.extraVolumes }}{{ toYaml . }}{{ end -}}
{{- end }}

{{- define "usher.controllerMounts" -}}
{{- if .Values.controller.neutron.secret -}}
- {name: openstack, mountPath: /etc/openstack, readOnly: true}
{{ end -}}
{{- include "usher.trustMount" . -}}
{{- with .Values.controller.extraVolumeMounts }}{{ toYaml . }}{{ end -}}
{{- end }}

{{- /* Refuses the controllers of a second installation: two would act on the same
custom resources. */}}
{{- define "usher.onlyController" -}}
{{- if .Values.controller.enabled -}}
{{- $own := printf "%s-controller" (include "usher.fullname" .) -}}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $same := and (eq (get $annotations "meta.helm.sh/release-name") $.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") $.Release.Namespace) -}}
{{- if and (eq (get $labels "app.kubernetes.io/name") "usher") (eq (get $labels "app.kubernetes.io/component") "controller") (not $same) (not (hasPrefix $own .metadata.name)) -}}
{{- fail (printf "the cluster has the controllers of another installation of usher (ClusterRole %s), and two would act on the same custom resources: set controller.enabled=false" .metadata.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
