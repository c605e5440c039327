{{- define "tidemark.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{/* At most 52 characters: a StatefulSet's pods add a number, a Job and its pods more. */}}
{{- define "tidemark.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "tidemark.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "tidemark.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tidemark.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tidemark.labels" -}}
{{ include "tidemark.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "tidemark.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "tidemark.pipelineName" -}}
{{ .Values.pipeline.name | default .Release.Name }}
{{- end }}

{{- define "tidemark.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "tidemark.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end }}

{{- define "tidemark.isStatic" -}}
{{- if eq (toString .Values.group.static) "auto" -}}
{{ eq .Values.workload "StatefulSet" }}
{{- else -}}
{{ .Values.group.static }}
{{- end -}}
{{- end }}

{{/* Whether each pod gets a volume of its own. */}}
{{- define "tidemark.hasVolumeClaims" -}}
{{- if and (eq .Values.state.kind "embedded") (eq .Values.workload "StatefulSet") .Values.state.embedded.size -}}true{{- end -}}
{{- end }}

{{/* What a schema cannot say. */}}
{{- define "tidemark.check" -}}
{{- $fullname := include "tidemark.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $fullname) -}}
{{- fail (printf "fullnameOverride: %q cannot be the name of a Service, which begins with a letter and has only small letters, digits and hyphens; give another one, as for a release with a dot in its name" $fullname) -}}
{{- end -}}
{{- if not (regexMatch "^[a-zA-Z0-9_-]+$" (include "tidemark.pipelineName" .)) -}}
{{- fail (printf "pipeline.name: the name of the release, %q, cannot be that of a pipeline; give another one" .Release.Name) -}}
{{- end -}}
{{- if and .Values.gate.refresh (or (not .Values.gate.enabled) (eq .Values.gate.plan "never")) -}}
{{- fail "gate.refresh: only a gate that plans knows whether a refresh is needed; set gate.enabled, and gate.plan to auto or required" -}}
{{- end -}}
{{- if and (not .Values.pipeline.files) (not .Values.pipeline.existingConfigMap) -}}
{{- fail "pipeline.files: at least one SQL file is needed, or pipeline.existingConfigMap" -}}
{{- end -}}
{{- if and .Values.pipeline.files .Values.pipeline.existingConfigMap -}}
{{- fail "pipeline.files and pipeline.existingConfigMap: only one of them" -}}
{{- end -}}
{{- if and .Values.pipeline.existingConfigMap (not .Values.pipeline.existingConfigMapKeys) -}}
{{- fail "pipeline.existingConfigMapKeys: the keys of the ConfigMap that are the files are needed" -}}
{{- end -}}
{{- if and (eq .Values.state.kind "redis") (not .Values.state.redis.existingSecret) -}}
{{- fail "state.redis.existingSecret: the Secret with the URL of Redis is needed with state.kind redis" -}}
{{- end -}}
{{- if and (ne .Values.kafka.sasl.mechanism "none") (not .Values.kafka.sasl.existingSecret) -}}
{{- fail "kafka.sasl.existingSecret: the Secret with the password is needed with kafka.sasl.mechanism" -}}
{{- end -}}
{{- if and (or .Values.kafka.tls.certKey .Values.kafka.tls.keyKey) (not (and .Values.kafka.tls.certKey .Values.kafka.tls.keyKey .Values.kafka.tls.existingSecret)) -}}
{{- fail "kafka.tls: certKey, keyKey and existingSecret belong together" -}}
{{- end -}}
{{- if and .Values.kafka.tls.existingSecret (not .Values.kafka.tls.enabled) -}}
{{- fail "kafka.tls.enabled: kafka.tls.existingSecret is of no use without it, and the connections would be in the clear" -}}
{{- end -}}
{{- if and .Values.kafka.sasl.existingSecret (eq .Values.kafka.sasl.mechanism "none") -}}
{{- fail "kafka.sasl.mechanism: kafka.sasl.existingSecret is of no use without it, and nobody would log in" -}}
{{- end -}}
{{- if and (eq .Values.state.kind "embedded") (or (gt (int .Values.replicaCount) 1) (ne .Values.autoscaling.mode "none")) -}}
{{- fail "state.kind: embedded state belongs to one pod; with more than one, or with autoscaling, it has to be redis" -}}
{{- end -}}
{{- $scaling := .Values.autoscaling -}}
{{- if and (ne $scaling.mode "none") (gt (int $scaling.minReplicas) (int $scaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas" -}}
{{- end -}}
{{- if and (ne $scaling.mode "none") (gt (int $scaling.partitionsHint) 0) (gt (int $scaling.maxReplicas) (int $scaling.partitionsHint)) -}}
{{- fail "autoscaling.maxReplicas is above autoscaling.partitionsHint: replicas beyond the number of partitions stand idle" -}}
{{- end -}}
{{- if and (eq $scaling.mode "keda") (not $scaling.prometheusAddress) -}}
{{- fail "autoscaling.prometheusAddress is needed with autoscaling.mode keda" -}}
{{- end -}}
{{- end }}

{{/* The names of the pipeline's files, in order. */}}
{{- define "tidemark.fileNames" -}}
{{- if .Values.pipeline.existingConfigMap -}}
{{ .Values.pipeline.existingConfigMapKeys | toJson }}
{{- else -}}
{{ keys .Values.pipeline.files | sortAlpha | toJson }}
{{- end -}}
{{- end }}

{{/* tidemark.yaml, without any secret: those are files. */}}
{{- define "tidemark.config" -}}
{{- $files := list -}}
{{- range include "tidemark.fileNames" . | fromJsonArray -}}
{{- $files = append $files (printf "/etc/tidemark/pipeline/%s" .) -}}
{{- end -}}
{{- $kafka := dict "brokers" .Values.kafka.brokers "transactionTimeoutMs" (int64 .Values.kafka.transactionTimeoutMs) -}}
{{- with .Values.kafka.tls -}}
{{- if .enabled -}}
{{- $_ := set $kafka "ssl" true -}}
{{- if and .existingSecret .caKey -}}{{- $_ := set $kafka "sslCaFile" (printf "/etc/tidemark/secrets/kafka-tls/%s" .caKey) -}}{{- end -}}
{{- if .certKey -}}
{{- $_ := set $kafka "sslCertFile" (printf "/etc/tidemark/secrets/kafka-tls/%s" .certKey) -}}
{{- $_ := set $kafka "sslKeyFile" (printf "/etc/tidemark/secrets/kafka-tls/%s" .keyKey) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.kafka.sasl -}}
{{- if ne .mechanism "none" -}}
{{- $_ := set $kafka "saslMechanism" .mechanism -}}
{{- $_ := set $kafka "saslPasswordFile" (printf "/etc/tidemark/secrets/kafka-sasl/%s" .passwordKey) -}}
{{- if and .username (not .usernameKey) -}}{{- $_ := set $kafka "saslUsername" .username -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $state := dict "kind" .Values.state.kind "directory" "/var/lib/tidemark" -}}
{{- $isStatic := eq (include "tidemark.isStatic" .) "true" -}}
{{- $group := dict "static" $isStatic -}}
{{- $http := dict "enabled" "true" "host" "0.0.0.0" "port" (int .Values.http.port) -}}
{{- if .Values.http.tokenExistingSecret -}}{{- $_ := set $http "tokenFile" (printf "/etc/tidemark/secrets/http/%s" .Values.http.tokenKey) -}}{{- end -}}
{{- $config := dict
  "pipeline" (dict "name" (include "tidemark.pipelineName" .) "files" $files)
  "kafka" $kafka "state" $state "group" $group "http" $http
  "retry" (dict "afterFailure" "stay" "startTimeoutMs" (mul (int64 .Values.probes.startupBudgetSeconds) 1000)) -}}
{{- if eq .Values.state.kind "redis" -}}
{{- $_ := set $config "redis" (dict "urlFile" (printf "/etc/tidemark/secrets/redis/%s" .Values.state.redis.urlKey)) -}}
{{- end -}}
{{- $given := deepCopy .Values.config -}}
{{ toYaml (mergeOverwrite $config $given) }}
{{- end }}

{{- define "tidemark.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "tidemark.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "tidemark.env" -}}
- name: TIDEMARK_INSTANCE_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- with .Values.kafka.sasl }}
{{- if and (ne .mechanism "none") .usernameKey }}
- name: TIDEMARK_KAFKA_SASL_USERNAME
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret }}
      key: {{ .usernameKey }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* For a container with the memory of a pod of the service. */}}
{{- define "tidemark.nodeOptions" -}}
{{- with .Values.nodeOptions }}
- name: NODE_OPTIONS
  value: {{ . | quote }}
{{- end }}
{{- end }}

{{/* Where pods that work on Kafka go: the service, and the gate before it. */}}
{{- define "tidemark.egress" -}}
# Names.
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
# Kafka: the brokers tell their own addresses, so only the ports are known.
- ports:
    {{- $ports := list }}
    {{- range .Values.kafka.brokers }}
    {{- $ports = append $ports (regexFind "[0-9]+$" .) }}
    {{- end }}
    {{- range uniq $ports }}
    - port: {{ . }}
    {{- end }}
{{- if eq .Values.state.kind "redis" }}
- ports:
    - port: {{ .Values.state.redis.port }}
{{- end }}
{{- with .Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "tidemark.secretMounts" -}}
{{- if and .Values.kafka.tls.enabled .Values.kafka.tls.existingSecret }}
- name: kafka-tls
  mountPath: /etc/tidemark/secrets/kafka-tls
  readOnly: true
{{- end }}
{{- if ne .Values.kafka.sasl.mechanism "none" }}
- name: kafka-sasl
  mountPath: /etc/tidemark/secrets/kafka-sasl
  readOnly: true
{{- end }}
{{- if eq .Values.state.kind "redis" }}
- name: redis
  mountPath: /etc/tidemark/secrets/redis
  readOnly: true
{{- end }}
{{- if .Values.http.tokenExistingSecret }}
- name: http
  mountPath: /etc/tidemark/secrets/http
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "tidemark.secretVolumes" -}}
{{- if and .Values.kafka.tls.enabled .Values.kafka.tls.existingSecret }}
- name: kafka-tls
  secret:
    secretName: {{ .Values.kafka.tls.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- if ne .Values.kafka.sasl.mechanism "none" }}
- name: kafka-sasl
  secret:
    secretName: {{ .Values.kafka.sasl.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- if eq .Values.state.kind "redis" }}
- name: redis
  secret:
    secretName: {{ .Values.state.redis.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- if .Values.http.tokenExistingSecret }}
- name: http
  secret:
    secretName: {{ .Values.http.tokenExistingSecret }}
    defaultMode: 0440
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
