import { headOf } from '#contracts/cut.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import type { ToolManifest } from '../types/manifest.ts'
import { emitTool } from '#contracts/event-bus.ts'
import {
  getPromptTool,
  readResourceTool,
  type PromptManifest,
  type ResourceManifest,
  parseUriTemplate,
} from '#contracts/manifest/manifest-offers.ts'
import { matchUriTemplate } from '../types/uri-template.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { toPromptOutput, toResourceOutput } from './offer-output.ts'
import { InputError } from '../types/plugin-output.ts'
import type { HostedFunction, HostedParts } from '../sandbox/plugin-parts.ts'

const maxListedChars = 1_500
const maxSchemaChars = 300

/** A tool that the host declares and the plugin's code runs. */
export interface OfferTool {
  readonly tool: ToolManifest
  readonly run: HostedFunction
}

/**
 * Ordinary tools that read a plugin's resources, make its prompts and emit its events. They are tools so that every
 * gate applies (docs/design.md invariant 4). A plugin without resources, prompts or events has no such tool.
 */
export function toOfferTools({ manifest, parts }: LoadedPlugin): readonly OfferTool[] {
  const { resources, prompts, events } = manifest.contributes
  return [
    ...(resources.length > 0 && parts.resources ? [readingOf(manifest, parts.resources)] : []),
    ...(prompts.length > 0 && parts.prompts ? [promptingOf(manifest, parts.prompts)] : []),
    ...(events.length > 0 ? [emittingOf(manifest)] : []),
  ]
}

/**
 * A caller of a plugin's tools may emit the plugin's events. No code of the plugin runs for it, but every gate still
 * applies.
 */
function emittingOf({ id, contributes: { events } }: Manifest): OfferTool {
  const listed = events.map(({ name, description, schema }) =>
    [name, description, headOf(JSON.stringify(schema), maxSchemaChars)].filter(Boolean).join(': '),
  )
  return {
    tool: {
      name: emitTool,
      description: `Emits an event of ${id}, which may begin runs of those who subscribe to it:\n${joined(listed)}`,
      input_schema: {
        type: 'object',
        properties: {
          event: { type: 'string', enum: events.map(({ name }) => name) },
          payload: { type: 'object' },
        },
        required: ['event', 'payload'],
        additionalProperties: false,
      },
      annotations: {},
      // Public events can be subscribed to, and so are read, by other principals.
      ...(events.some((one) => one.public) && { sink: ['message'] }),
    },
    async run({ event, payload }, { emit }) {
      await emit(String(event), payload as JsonObject)
      return { emitted: `${id}.${String(event)}` }
    },
  }
}

type Functions = NonNullable<HostedParts['resources']>

function readingOf({ id, contributes: { resources } }: Manifest, functions: Functions): OfferTool {
  const listed = resources.map((one) => line(one.uri ?? one.uriTemplate ?? '', one))
  return {
    tool: {
      name: readResourceTool,
      description: `Reads a resource of ${id}:\n${joined(listed)}`,
      input_schema: {
        type: 'object',
        properties: { uri: { type: 'string', minLength: 1, maxLength: 2_048 } },
        required: ['uri'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, idempotentHint: true },
    },
    async run({ uri: asked }, capabilities, context) {
      const uri = String(asked)
      const found = resourceAt(resources, uri)
      const read = found && functions[found.resource.name]
      if (!found || !read) throw new InputError(`There is no resource "${headOf(uri, 200)}".`)
      const answer = await read({ ...found.variables, uri }, capabilities, context)
      return toResourceOutput(answer, { uri, mimeType: found.resource.mimeType })
    },
  }
}

function promptingOf({ id, contributes: { prompts } }: Manifest, functions: Functions): OfferTool {
  const listed = prompts.map((one) => line(`${one.name}(${argumentsOf(one)})`, one))
  return {
    tool: {
      name: getPromptTool,
      description: `Makes a prompt of ${id}:\n${joined(listed)}`,
      input_schema: {
        type: 'object',
        properties: {
          name: { type: 'string', enum: prompts.map(({ name }) => name) },
          arguments: { type: 'object', additionalProperties: { type: 'string' } },
        },
        required: ['name'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, idempotentHint: true },
    },
    async run({ name, arguments: given }, capabilities, context) {
      const prompt = prompts.find((one) => one.name === name)
      const make = prompt && functions[prompt.name]
      if (!make) throw new InputError(`There is no prompt "${headOf(String(name), 64)}".`)
      const values = (given ?? {}) as JsonObject
      checkArguments(prompt, values)
      return toPromptOutput(await make(values, capabilities, context))
    },
  }
}

/** A full URI wins over a template; among templates the first that matches wins. */
function resourceAt(resources: readonly ResourceManifest[], uri: string) {
  const whole = resources.find((resource) => resource.uri === uri)
  if (whole) return { resource: whole, variables: {} }
  for (const resource of resources) {
    const template =
      resource.uriTemplate === undefined ? '' : parseUriTemplate(resource.uriTemplate)
    const variables = typeof template === 'string' ? undefined : matchUriTemplate(template, uri)
    if (variables) return { resource, variables }
  }
  return undefined
}

function checkArguments({ arguments: declared }: PromptManifest, values: JsonObject): void {
  const missing = declared.find(
    ({ name, required }) => required === true && !Object.hasOwn(values, name),
  )
  if (missing) throw new InputError(`The argument "${missing.name}" is required.`)
  const unknown = Object.keys(values).find((key) => !declared.some(({ name }) => name === key))
  if (unknown !== undefined)
    throw new InputError(`There is no argument "${headOf(unknown, 64)}" of this prompt.`)
}

const argumentsOf = ({ arguments: declared }: PromptManifest): string =>
  declared.map(({ name, required }) => (required === true ? name : `${name}?`)).join(', ')

const line = (
  what: string,
  { title, description }: { title?: string | undefined; description?: string | undefined },
) =>
  `- ${what}${(description ?? title) === undefined ? '' : `: ${description ?? title}`}`.slice(
    0,
    300,
  )

/** As many lines as a description may hold; a list of the resources or prompts has the rest. */
function joined(lines: readonly string[]): string {
  let length = 0
  const shown = lines.filter((text) => (length += text.length + 1) <= maxListedChars)
  const rest = lines.length - shown.length
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n')
}
