import { type Schema, Validator } from '@cfworker/json-schema'
import spec from '../fixtures/specs/open-responses-2026-04-24.json' with { type: 'json' }

const schemas = spec.components.schemas as Readonly<Record<string, unknown>>

/** Faults of a body by the Open Responses specification; empty if there is none. */
export function responseProblems(name: string, body: unknown): readonly string[] {
  const schema = { ...spec, $ref: `#/components/schemas/${name}` } as unknown as Schema
  const { valid, errors } = new Validator(schema, '2020-12', false).validate(body)
  return valid ? [] : errors.map((error) => `${error.instanceLocation}: ${error.error}`)
}

/** By its `type`: `response.output_text.delta` is `ResponseOutputTextDeltaStreamingEvent`. */
export function eventProblems(event: { readonly type: string }): readonly string[] {
  const words = event.type.split(/[._]/).map((word) => word[0]!.toUpperCase() + word.slice(1))
  const name = `${words.join('')}StreamingEvent`
  return name in schemas ? responseProblems(name, event) : [`no event is called ${event.type}`]
}
