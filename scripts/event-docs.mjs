// npm run events: writes docs/events.md, the page of every kind of event, from the schemas their types come from.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './toolchain.mjs'

const contracts = join(root, 'src', 'contracts')
const load = (name) => import(pathToFileURL(join(contracts, name)).href)

/** A schema without what only says that it may be absent or is not to be changed. */
const inner = (schema) =>
  ['optional', 'readonly'].includes(schema.def.type) ? inner(schema.def.innerType) : schema

const titleOf = (schema) => schema.meta?.()?.title

const isOptional = (schema) =>
  schema.def.type === 'optional' ||
  (schema.def.type === 'readonly' && isOptional(schema.def.innerType))

const noteOf = (schema) =>
  schema.description ?? (schema.def.innerType ? noteOf(schema.def.innerType) : undefined)

/** Describes the values of a field. Throws for a schema that no event has so far. */
function typeOf(schema) {
  const { def } = schema
  if (titleOf(schema)) return titleOf(schema)
  switch (def.type) {
    case 'optional':
    case 'readonly':
      return typeOf(def.innerType)
    case 'nullable':
      return `${typeOf(def.innerType)} or null`
    case 'string':
    case 'number':
    case 'boolean':
      return def.type
    case 'literal':
      return def.values.map((value) => `\`${value}\``).join(', ')
    case 'enum':
      return Object.values(def.entries)
        .map((value) => `\`${value}\``)
        .join(', ')
    case 'array': {
      const one = inner(def.element)
      return one.def.type === 'object' ? `list of ${typeOf(one)}` : `list of ${typeOf(one)}s`
    }
    case 'object':
      return `{ ${Object.entries(def.shape)
        .map(([name, field]) => `${name}${isOptional(field) ? '?' : ''}`)
        .join(', ')} }`
    default:
      throw new Error(`docs/events.md: no words for a schema of type ${def.type}`)
  }
}

const row = (cells) => `| ${cells.join(' | ')} |`
const nameOf = (name, field) => `\`${name}${isOptional(field) ? '?' : ''}\``

function table(fields) {
  const rows = fields.map(({ name, field, where }) => {
    const note = [where, noteOf(inner(field)) ?? noteOf(field)].filter(Boolean).join(': ')
    return row([nameOf(name, field), typeOf(field), note])
  })
  return [row(['field', 'type', '']), row(['---', '---', '---']), ...rows].join('\n')
}

/** A kind of a session's events: what both have, then what only one of stream and record has. */
function sessionKind([type, { data, told }]) {
  const { shape: stored } = data
  const fields = [
    ...Object.entries(stored).map(([name, field]) => {
      const where = Object.hasOwn(told.shape, name) ? undefined : 'record only'
      return { name, field: Object.hasOwn(told.shape, name) ? told.shape[name] : field, where }
    }),
    ...Object.entries(told.shape)
      .filter(([name]) => !Object.hasOwn(stored, name))
      .map(([name, field]) => ({ name, field, where: 'stream only' })),
  ]
  return [`### ${type}`, data.description, table(fields)].join('\n\n')
}

function deploymentKind([type, data]) {
  const fields = Object.entries(data.shape).map(([name, field]) => ({ name, field }))
  return [`### ${type}`, data.description, table(fields)].join('\n\n')
}

/** The text of docs/events.md. */
export async function eventPage() {
  const { eventSchemas } = await load('event-schemas.ts')
  const { deploymentEventSchemas } = await load('events/deployment-event-schemas.ts')
  return `<!-- Written by npm run events from src/contracts/event-schemas.ts and src/contracts/events/: do not edit. -->

# Events

Everything that happens is an event: \`{ type, data, seq, run, agent, trace, atMs }\`, \`data\` by its type. A field may be added at any time: leave
alone what you do not know. A \`?\` marks a field that may be absent.

- **The stream** is what a session's own readers get: \`GET /api/sessions/:id/events\` ([how to read it](api.md#events)).
- **The record** is the audit log: \`GET /api/operator/audit\` and \`isola audit list\`. It has each event as it was written, without texts, arguments and results, with \`session\` and \`principal\`.

## Of a session

Stream and record have all of these; a field that only one of them has says so.

${Object.entries(eventSchemas).map(sessionKind).join('\n\n')}

## Of the deployment

What an operator did, or somebody tried. Only the record has these; \`session\`, \`run\` and \`agent\` of the record are empty, \`principal\` is who did it, or empty if that is not known.

${Object.entries(deploymentEventSchemas).map(deploymentKind).join('\n\n')}
`
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href)
  writeFileSync(join(root, 'docs', 'events.md'), await eventPage())
