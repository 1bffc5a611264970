import { defined } from '#contracts/defined.ts'
import { headOf, tailOf } from '#contracts/cut.ts'
import type { JsonObject } from '#contracts/json.ts'
import { ownLabel, type Label } from '#contracts/label.ts'
import type { OutputStore } from '#runtime/kernel/types/policy.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'
import type { ToolContext, ToolEntry, ToolFailure } from '#contracts/tool.ts'

/** The longest output that a model sees whole. */
const maxChars = 24_000
const headChars = 4_000
const pageChars = 16_000
const maxMatches = 20
const space = 'outputs'
const quotaBytes = 64 * 1_048_576

/** The tool that reads long outputs in pages. */
export const readOutputName = 'isola__read_output'

/** The storage of long outputs, one for each session tree, by its root. */
export interface OutputSpaces {
  readonly at: (rootSession: string) => {
    readonly storage: (request: StorageRequest) => Promise<StorageAnswer>
  }
}

/** Keeps long outputs in the tree's storage; the model gets the start, the length and a handle. */
export function createOutputStore(sessions: OutputSpaces): OutputStore {
  return {
    maxChars,
    async keep({ session, run, call, ...of }, json) {
      const handle = `${session}.${run}.${call}`
      const answer = await keepOutput(sessions, of, handle, json)
      const head = headOf(json, headChars)
      if (answer.error !== undefined)
        return { chars: json.length, head, note: `The rest was not kept: ${answer.error}` }
      return {
        handle,
        chars: json.length,
        head,
        note: `Only the start is shown. Read on with ${readOutputName}.`,
      }
    },
  }
}

/** Keeps JSON behind a handle that begins with its session. */
export const keepOutput = (
  sessions: OutputSpaces,
  { rootSession, label }: Pick<ToolContext, 'rootSession' | 'label'>,
  handle: string,
  json: string,
) =>
  sessions.at(rootSession).storage({
    verb: 'set',
    space,
    key: handle,
    value: json,
    quotaBytes,
    evicts: true,
    ...defined({ label }),
  })

/** Reads and searches stored outputs. */
export function createOutputTool(sessions: OutputSpaces): ToolEntry {
  return {
    tool: {
      name: readOutputName,
      description:
        'Reads a long tool result that was kept behind a handle: a page from an offset, or the lines around ' +
        'a search text.',
      inputSchema: {
        type: 'object',
        properties: {
          handle: { type: 'string', description: 'The handle of the result.' },
          offset: { type: 'integer', minimum: 0, description: 'Where to start, in characters.' },
          query: {
            type: 'string',
            minLength: 1,
            description: 'Text to look for, upper and lower case alike.',
          },
        },
        required: ['handle'],
        additionalProperties: false,
      },
      async execute({ handle, offset, query }, context) {
        const kept = await loadOutput(sessions, String(handle), context)
        if ('error' in kept) return { ok: false, error: kept.error, label: ownLabel }
        const { text, label } = kept
        return {
          ok: true,
          label,
          output: typeof query === 'string' ? find(text, query) : page(text, Number(offset ?? 0)),
        }
      },
    },
    isReadOnly: true,
    isIdempotent: true,
    sinks: [],
    timeoutMs: 10_000,
    definitionHash: `core:${readOutputName}`,
    record: {},
  }
}

/** The output behind a handle and its label, or why it cannot be read. */
export async function loadOutput(
  sessions: OutputSpaces,
  key: string,
  { rootSession, session }: Pick<ToolContext, 'rootSession' | 'session'>,
): Promise<
  { readonly text: string; readonly label: Label | undefined } | { readonly error: ToolFailure }
> {
  // The storage belongs to the tree, and each session may read its own outputs only.
  const isOwn = key.startsWith(`${session}.`)
  const { value, label } = isOwn
    ? await sessions.at(rootSession).storage({ verb: 'get', space, key })
    : {}
  if (typeof value === 'string') return { text: value, label }
  const message = isOwn ? goneText(key) : `There is no kept result "${key}".`
  return { error: { code: 'tool_failed', message } }
}

const goneText = (handle: string): string =>
  `There is no kept result "${handle}" any more: of a conversation's long results 64 MiB are kept, the ` +
  'oldest go first. Call the tool again if you need it.'

function page(text: string, offset: number): JsonObject {
  // A page is a result too: if many of its characters need escapes, a whole page would itself go behind a handle.
  const rest = tailOf(text, text.length - offset)
  const whole = headOf(rest, pageChars)
  const isWide = JSON.stringify(whole).length > maxChars - 1_000
  const shown = isWide ? headOf(whole, pageChars / 2) : whole
  const end = text.length - rest.length + shown.length
  return { text: shown, chars: text.length, ...(end < text.length && { nextOffset: end }) }
}

function find(text: string, query: string): JsonObject {
  const [lower, wanted] = [text.toLowerCase(), query.toLowerCase()]
  const matches: JsonObject[] = []
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) {
    if (matches.length === maxMatches) return { matches, more: true }
    const head = headOf(text, at + wanted.length + 120)
    matches.push({ offset: at, text: tailOf(head, head.length - Math.max(0, at - 120)) })
  }
  return { matches }
}
