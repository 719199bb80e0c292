{{- define "usher.labels" -}}
app.kubernetes.io/name: usher
app.kubernetes.io/component: webhook
{{- end }}

{{- define "usher.controllerLabels" -}}
app.kubernetes.io/name: usher
app.kubernetes.io/component: controller
{{- end }}

{{- define "usher.image" -}}
{{- with .Values.image -}}
{{- .repository -}}
{{- if .digest -}}@{{ .digest }}{{- else -}}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end }}
