import { describe, expect, it } from 'vitest'
import {
  captureContent,
  logLevel,
  otlpEndpoint,
  otlpHeaders,
} from '#features/record/types/telemetry-settings.ts'

describe('the settings of telemetry', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['http://127.0.0.1:4318', 'http://127.0.0.1:4318/v1/traces'],
    ['https://a.example/otlp/', 'https://a.example/otlp/v1/traces'],
  ])('take the endpoint %s as %s', (text, expected) => {
    expect(otlpEndpoint.parse(text)).toBe(expected)
  })

  it.each([
    ['localhost:4318', 'http or https'],
    ['ftp://a.example', 'http or https'],
    ['https://user:secret@a.example', 'OTEL_EXPORTER_OTLP_HEADERS'],
    ['https://a.example/?key=secret', 'path'],
  ])('refuse the endpoint %s and say what to do', (text, hint) => {
    const message = otlpEndpoint.safeParse(text).error?.issues[0]?.message
    expect(message).toContain(hint)
    expect(message).not.toContain('secret')
  })

  it('take headers as every OpenTelemetry program does', () => {
    expect(otlpHeaders.parse(undefined)).toEqual({})
    const text = ' Authorization=Basic%20dXNlcjpwYXNz== , x-team=a=b,'
    expect(otlpHeaders.parse(text)).toEqual({
      authorization: 'Basic dXNlcjpwYXNz==',
      'x-team': 'a=b',
    })
  })

  it.each([
    'authorization',
    '=secret',
    'a b=secret',
    'x=%zz-secret',
    'x=secret%0d%0ay: z',
    'host=secret',
    'ok=1,x=',
  ])('refuse the headers %s without saying what is in them', (text) => {
    const message = otlpHeaders.safeParse(text).error?.issues[0]?.message
    expect(message).toMatch(/^entry [12] must be name=value/)
    expect(message).not.toContain('secret')
  })

  it.each([
    [undefined, false],
    ['', false],
    ['false', false],
    ['NO_CONTENT', false],
    ['true', true],
    ['True', true],
    ['SPAN_ONLY', true],
  ])('capture content with %s: %s', (text, expected) => {
    expect(captureContent.parse(text)).toBe(expected)
  })

  it('refuse words that mean nothing', () => {
    expect(captureContent.safeParse('event_only').success).toBe(false)
    expect(logLevel.safeParse('debug').success).toBe(false)
    expect(logLevel.parse('')).toBeUndefined()
  })
})
