import type { Telemetry } from '#runtime/session/types/telemetry.ts'
import { createContent } from './content.ts'
import { createOtlpExporter, type ExporterOptions } from './otlp-exporter.ts'

export interface TelemetryParts extends Omit<ExporterOptions, keyof OtlpConfig | 'content'> {
  readonly otlp: OtlpConfig
}

export interface OtlpConfig {
  /** Absent: no traces are exported. */
  readonly url: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  readonly capturesContent: boolean
}

/** The exporter of traces; `undefined` if no address is set. */
export function composeTelemetry({ otlp, ...parts }: TelemetryParts): Telemetry | undefined {
  const { url, headers, serviceName, capturesContent } = otlp
  if (url === undefined) return undefined
  return createOtlpExporter({
    ...parts,
    url,
    headers,
    serviceName,
    ...(capturesContent && { content: createContent(parts.redact) }),
  })
}
