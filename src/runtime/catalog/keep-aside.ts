import type { Json, JsonObject } from '#contracts/json.ts'
import { joinLabels, ownLabel, type Label } from '#contracts/label.ts'
import type {
  HookSubject,
  ToolHooks,
  UnseenWords,
  OutputStore,
} from '#runtime/kernel/types/policy.ts'
import type { ToolContext, ToolEntry, ToolResult, Toolset } from '#contracts/tool.ts'
import { loadOutput, type OutputSpaces } from './output-tool.ts'
import { corePrefix } from './core-tools.ts'

/**
 * The handle of words: the result's own handle, and the name of the requested field. No tool result has such a handle.
 */
export const wordsHandle = (result: string, field: string): string => `${result}.${field}`
const isOfWords = (handle: string): boolean => /^[^.]+\.[^.]+\..+\.[A-Za-z]\w*$/.test(handle)

/** Stands for words that a model has not seen, in the input of a call: their handle. */
export const placeholderOf = (handle: string): string => `{{${handle}}}`

const space = 'unseen'
const quotaBytes = 1_048_576
/** The most placeholders in one call: each may stand for a text as long as the material. */
const maxPlaceholders = 100
const placeholder = /\{\{([\w.:-]{1,300})\}\}/g

type Caller = Pick<ToolContext, 'rootSession'>

interface Filled extends Pick<UnseenWords, 'parts' | 'label'> {
  readonly input: JsonObject
}

/**
 * Fills calls with words that a narrow reader read for a model, without showing them to the model. Gates and approvers
 * see the call with the words and their label; the model's own context stays as it was.
 */
export function createUnseenWords(sessions: OutputSpaces) {
  const takers = new WeakMap<JsonObject, { readonly but: string | undefined }>()
  const filled = new WeakMap<JsonObject, UnseenWords>()
  return {
    /** The words that were put into this very input. */
    in: (input: JsonObject): UnseenWords | undefined => filled.get(input),
    /**
     * Allows this very input to be filled. Only for calls whose result can be kept aside, since it may repeat the
     * words. The parameter `but` may have none.
     */
    accept: (input: JsonObject, but?: string): void => void takers.set(input, { but }),
    /**
     * The label of all words that calls of this session tree were filled with: other code may repeat them in a later
     * call. Least trusted if the label cannot be read.
     */
    told: async ({ rootSession: key }: Caller): Promise<Label | undefined> => {
      const kept = sessions.at(key).storage({ verb: 'get', space, key })
      const { value, label } = await kept.catch(() => ({ value: true, label: undefined }))
      return value === undefined ? undefined : joinLabels([label])
    },
    /** Runs before all other hooks, so that these see the filled input. */
    around: (hooks: ToolHooks): ToolHooks => ({
      ...hooks,
      async before(subject) {
        const taker = takers.get(subject.input)
        const words = taker && (await fill(subject, sessions, taker.but))
        if (!words) return hooks.before(subject)
        if ('message' in words) return { veto: true, ...words }
        await keepTold(subject, words.label, sessions)
        const label = joinLabels([subject.label, words.label])
        const verdict = await hooks.before({ ...subject, input: words.input, label })
        if (verdict.veto) return verdict
        const { input = words.input } = verdict
        const changed = verdict.input ? joinLabels([verdict.label]) : ownLabel
        // A hook may have moved the words to any parameter.
        const anywhere = { label: words.label, isLink: false }
        const parts = verdict.input
          ? Object.keys(input).map((parameter) => ({ parameter, ...anywhere }))
          : words.parts
        filled.set(input, { ...words, parts, own: joinLabels([subject.label, changed]) })
        return { veto: false, input, label: joinLabels([words.label, changed]) }
      },
    }),
  }
}

/** Stored before any code gets the words: hooks get them even if the call is refused. */
async function keepTold(
  { rootSession: key }: Caller,
  label: Label,
  sessions: OutputSpaces,
): Promise<void> {
  const value = { verb: 'set', space, key, value: true, quotaBytes, label, joins: true } as const
  const { error } = await sessions.at(key).storage(value)
  if (error !== undefined) throw new Error(error)
}

/** The input with the words in it, or which of them there are not; nothing where it has no place for any. */
async function fill(
  { input, session, rootSession }: HookSubject,
  sessions: OutputSpaces,
  but: string | undefined,
): Promise<Filled | { readonly message: string; readonly label: Label } | undefined> {
  const handlesIn = (value: Json | undefined) =>
    [...JSON.stringify(value ?? null).matchAll(placeholder)]
      .map(([, handle = '']) => handle)
      .filter((handle) => handle.startsWith(`${session}.`))
  const all = handlesIn(input)
  const handles = [...new Set(all)]
  if (handles.length === 0) return undefined
  if (but !== undefined && handlesIn(input[but]).length > 0)
    return {
      message:
        `${but}: a placeholder stands for words that you have not seen, which are not put in there. Give ` +
        'it to another tool, in a call of its own.',
      label: ownLabel,
    }
  if (all.length > maxPlaceholders)
    return {
      message: `The input has ${all.length} placeholders; there may be at most ${maxPlaceholders} in one call.`,
      label: ownLabel,
    }
  const found = new Map<string, { text: string; label: Label; isLink: boolean }>()
  for (const handle of handles) {
    const kept = await loadOutput(sessions, handle, { rootSession, session })
    if ('error' in kept) return { message: kept.error.message, label: ownLabel }
    const { words, link } = Object(JSON.parse(kept.text)) as Readonly<Record<string, Json>>
    const text = link ?? words
    if (!isOfWords(handle) || typeof text !== 'string') {
      const message = `"${handle}" is a whole result. Ask isola__read_values for a string of it, and put that in.`
      return { message, label: ownLabel }
    }
    found.set(handle, { text, label: joinLabels([kept.label]), isLink: link !== undefined })
  }
  const change = (value: Json): Json => {
    if (typeof value === 'string')
      return value.replace(placeholder, (whole, handle: string) => found.get(handle)?.text ?? whole)
    if (Array.isArray(value)) return value.map(change)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, change(one)]))
  }
  const parts = Object.entries(input).flatMap(([parameter, value]) => {
    const words = handlesIn(value).map((handle) => found.get(handle)!)
    if (words.length === 0) return []
    const isLink = words.every((one) => one.isLink) && value === placeholderOf(handlesIn(value)[0]!)
    return [{ parameter, label: joinLabels(words.map(({ label }) => label)), isLink }]
  })
  const label = joinLabels([...found.values()].map((one) => one.label))
  return { input: change(input) as JsonObject, parts, label }
}

/** Its input `code` is run, and a stranger's words must not become a program. */
const codeName = 'code__run'

/** The label of a handle: its text is ours, with no words of a stranger. */
const handleLabel: Label = { integrity: 'tool', confidentiality: 'public', sources: [] }

/**
 * A toolset that keeps results out of the context if a stranger can have written them: the model gets a handle. A
 * result that cannot be stored comes back as it is, with its label. A call may be filled with words of such results
 * that the model has not seen. Its result may repeat these, so it has their label.
 */
export function withResultsAside(
  toolset: Toolset,
  { keep }: Pick<OutputStore, 'keep'>,
  words: Pick<ReturnType<typeof createUnseenWords>, 'accept' | 'in' | 'told'>,
  readTools: { readonly narrow: string; readonly whole: string },
): Toolset {
  const known = new WeakMap<ToolEntry, ToolEntry>()
  const aside = (entry: ToolEntry): ToolEntry => {
    if (entry.tool.name.startsWith(corePrefix)) return entry
    const made = known.get(entry) ?? {
      ...entry,
      tool: {
        ...entry.tool,
        async execute(input, context) {
          const unseen = words.in(input)
          const result = await entry.tool.execute(input, context)
          // A bundled tool labels its values itself. Other code may repeat, in this call, words that any earlier call
          // gave it.
          const told = unseen?.label ?? (isOurs(entry) ? undefined : await words.told(context))
          const label = told && joinLabels([result.label ?? entry.yields, told])
          return keptAside(label ? { ...result, label } : result, entry, context)
        },
      },
    }
    known.set(entry, made)
    return made
  }
  const note =
    'What came back can be written by anybody, so it is kept aside. Ask for values in it with ' +
    `${readTools.narrow}. With ${readTools.whole} you read all of it, and what you do after that may need ` +
    `somebody's approval: such calls are asked about together if you make them in one turn.`
  async function keptAside(
    result: ToolResult,
    { yields, tool: { name } }: ToolEntry,
    context: ToolContext,
  ): Promise<ToolResult> {
    const label = joinLabels([result.label ?? yields])
    const { directCall } = context.options
    // The user is to hear it as it is, and the model reads it later, if at all.
    const isSpoken = directCall?.floor !== undefined || (result.ok && result.floor !== undefined)
    // A direct call has no model that could read a text.
    if (label.integrity !== 'stranger' || isPaused(result) || (directCall && !isSpoken))
      return result
    // Results that its code read from other tools count all the same.
    if (context.inner?.label?.().integrity === 'stranger') return result
    const content = contentOf(result)
    const { session, rootSession, run, call } = context
    const kept = { session, rootSession, run, call, label }
    const { handle } = await keep(kept, JSON.stringify(content) ?? 'null')
    if (typeof handle !== 'string') return result
    if (isSpoken) return { ...result, aside: { output: { handle, note }, label: handleLabel } }
    if (result.ok) return { ...result, output: { handle, note }, label: handleLabel }
    const message = `The tool ${name} failed. What it said of that is kept aside as ${handle}. ${note}`
    return { ...result, error: { ...result.error, message }, label: handleLabel }
  }
  return {
    ...toolset,
    resolve(name, input) {
      const resolved = toolset.resolve(name, input)
      if (!resolved) return undefined
      const { entry, input: given } = resolved
      // Code that makes the agent's own calls gets no words of a stranger: the calls themselves get them.
      const writesCalls = entry.inner?.resolve === 'agent'
      if (!entry.tool.name.startsWith(corePrefix) && !writesCalls)
        words.accept(given, entry.tool.name === codeName ? 'code' : undefined)
      return { ...resolved, entry: aside(entry) }
    },
  }
}

const isOurs = ({ record }: ToolEntry): boolean => record.tier === 'builtin'

function contentOf(result: ToolResult): Json {
  if (!result.ok) return { error: { code: result.error.code, message: result.error.message } }
  const { output, floor } = result
  return floor && 'return' in floor ? { said: output, summary: floor.return.summary } : output
}

const isPaused = (result: ToolResult): boolean => !result.ok && result.pause !== undefined
